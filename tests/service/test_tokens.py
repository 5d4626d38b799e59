"""Who may do what: the file of tokens, and what is wrong with one."""

import os
from pathlib import Path

import pytest

from support.command_line import Run, said, without_privileges
from support.served import new_model, served
from thresher.errors import ParameterError
from thresher.web.access_tokens import ROLES, Holder, Tokens, check_token, new_token, read_tokens

GOOD = """
[ada]
role = "teacher"
token = "a-long-random-text"

["Zoë Zimmermann"]
role = "admin"
token = "another-random-text"
"""


def written(path: Path, text: str | bytes = GOOD, mode: int = 0o600) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def test_a_file_names_people_their_roles_and_their_tokens(tmp_path: Path) -> None:
    found = read_tokens(written(tmp_path / "tokens.toml"))
    assert found == {
        "a-long-random-text": Holder("ada", "teacher"),
        "another-random-text": Holder("Zoë Zimmermann", "admin"),
    }


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610, 0o602, 0o644, 0o777])
def test_a_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path / "tokens.toml", mode=mode)
    with pytest.raises(ParameterError, match=r"others than its owner may use it \(chmod 600 tokens.toml\)"):
        read_tokens(path)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_private_file_is_read(tmp_path: Path, mode: int) -> None:
    assert len(read_tokens(written(tmp_path / "tokens.toml", mode=mode))) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no tokens in it"),
        ("# nobody yet\n", "there are no tokens in it"),
        ('[ada]\nrole = "teacher"\n', r"\[ada\] needs a token and a role \(allowed: reader, teacher, admin\)"),
        ('[ada]\ntoken = "a-long-random-text"\n', r"\[ada\] needs a token and a role"),
        ('[ada]\nrole = "owner"\ntoken = "a-long-random-text"\n', r"\[ada\] needs a token and a role"),
        ('[ada]\nrole = "Admin"\ntoken = "a-long-random-text"\n', r"\[ada\] needs a token and a role"),
        ('[ada]\nrole = ["admin"]\ntoken = "a-long-random-text"\n', r"\[ada\] needs a token and a role"),
        ('[ada]\nrole = "admin"\ntoken = 12345678\n', r"\[ada\] needs a token and a role"),
        ('[ada]\nrole = "admin"\ntoken = "a-long-random-text"\nroles = 1\n', r"\[ada\] needs a token and a role"),
        ('ada = "a-long-random-text"\n', r"\[ada\] needs a token and a role"),
        ('[ada]\nrole = "admin"\ntoken = "short"\n', "8 or more"),
        ('[ada]\nrole = "admin"\ntoken = ""\n', "8 or more"),
        ('[ada]\nrole = "admin"\ntoken = "with a blank"\n', "without spaces"),
        ('[ada]\nrole = "admin"\ntoken = "öäüöäüöäü"\n', "plain letters"),
        ('[ada]\nrole = "admin"\ntoken = "new\\nlines\\n"\n', "plain letters"),
        (GOOD + '[bob]\nrole = "reader"\ntoken = "a-long-random-text"\n', r"\[bob\] has the token of another"),
        (GOOD + "[ada]\n", "line"),
        ("[ada\n", "line 1"),
        (b"\xff\xfe", "tokens.toml"),
    ],
)
def test_an_invalid_file_is_refused_with_the_reason(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as raised:
        read_tokens(written(tmp_path / "tokens.toml", text))
    assert "a-long-random-text" not in str(raised.value)


def test_an_invalid_token_file_is_one_line_of_the_command(called: Run, tmp_path: Path) -> None:
    model = new_model(tmp_path)
    for text, mode, parts in (
        (GOOD, 0o644, ("chmod 600",)),
        (GOOD.replace("teacher", "owner"), 0o600, ("[ada]", "allowed: reader, teacher, admin")),
        (GOOD.replace("a-long-random-text", "short"), 0o600, ("8 or more",)),
    ):
        path = written(tmp_path / "tokens.toml", text, mode)
        said(called("serve", model, "--port", "0", "--tokens", path), 2, *parts)
    said(called("serve", model, "--port", "0", "--tokens", tmp_path / "none.toml"), 66, "none.toml")
    said(called("serve", model, "--port", "0", "--token", "short"), 2, "8 or more")
    assert not (tmp_path / "desk.thresher.journal" / "service.json").exists()


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "tokens.toml", mode=0)
    said(without_privileges("serve", new_model(tmp_path), "--port", "0", "--tokens", path), 77, "tokens.toml")


def test_a_role_includes_the_rights_of_those_before_it() -> None:
    may = [[Holder("x", own).may(role) for role in ROLES] for own in ROLES]
    assert may == [[True, False, False], [True, True, False], [True, True, True]]


def test_new_tokens_cannot_be_guessed_and_can_be_carried() -> None:
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert all(check_token(token) == token and len(token) >= 32 for token in made)


@pytest.mark.parametrize("given", ["", "a", "secret-1", "secret-12x", "SECRET-12", "secret-12 ", "sécret-12", "\udcff"])
def test_only_the_whole_token_is_accepted(given: str) -> None:
    tokens = Tokens({"secret-12": Holder("ada", "reader")})
    assert tokens.holder(given) is None
    assert tokens.holder("secret-12") == Holder("ada", "reader")


def test_people_of_a_file_and_the_shared_token_are_known_together(tmp_path: Path) -> None:
    holders = read_tokens(written(tmp_path / "tokens.toml")) | {"shared-by-all": Holder("", "admin")}
    with served(new_model(tmp_path), holders=holders) as running:
        asked = {
            token: running.client(None).get("/v1/model", headers={"Authorization": f"bearer {token}"})
            for token in holders
        }
        assert {token: (found.json()["user"], found.json()["role"]) for token, found in asked.items()} == {
            token: tuple(holder) for token, holder in holders.items()
        }
