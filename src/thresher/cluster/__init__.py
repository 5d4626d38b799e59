"""Training and prediction on a Dask cluster, with the same results as on one machine.

Documents come as partitions. Intermediate results are files in a folder that the client and all workers see. Only
labels, the vocabulary and the requested weights pass through the client.
"""
