"""The other systems of the paper's Table 2 and of its related work, with the interface of the learners."""
