"""The same training and prediction on a Dask cluster: it schedules, and never restates a rule.

Documents come as partitions. What is made of them stands in a folder that the client and all workers see; through the
client go labels, the vocabulary, and the weights that it asked for.
"""
