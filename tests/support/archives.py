"""Archives in memory, for what is read or fetched as one."""

import io
import tarfile
import zipfile


def tar_of(files: dict[str, bytes]) -> bytes:
    """Return a tar archive of files."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return target.getvalue()


def zip_of(files: dict[str, bytes]) -> bytes:
    """Return a zip archive of files."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()
