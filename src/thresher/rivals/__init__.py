"""The other systems of the paper's Table 2 and of its related work, behind the verbs of the learners."""
