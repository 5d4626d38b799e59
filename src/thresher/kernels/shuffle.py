"""The order of a shuffled pass, which is the same on every machine and with every NumPy version.

It needs only integer arithmetic. The generator is L'Ecuyer's combination of two linear congruential generators (1988),
whose products fit into 64 bits.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel

_MODULUS_1, _FACTOR_1 = 2147483563, 40014
_MODULUS_2, _FACTOR_2 = 2147483399, 40692
_WARM_UP = 16


def make_state(seed: int) -> NDArray[np.int64]:
    """Return the generator's state for a seed, after a warm-up that separates neighboring seeds."""
    state = np.array([seed % (_MODULUS_1 - 1) + 1, seed // (_MODULUS_1 - 1) % (_MODULUS_2 - 1) + 1], dtype=np.int64)
    shuffle_rows(np.zeros(_WARM_UP, dtype=np.int64), state)
    return state


@kernel
def shuffle_rows(order: NDArray[np.int64], state: NDArray[np.int64]) -> None:
    """Shuffle `order` in place (Fisher-Yates, one draw per position from last to first); advances `state`."""
    for i in range(len(order) - 1, -1, -1):
        state[0] = state[0] * _FACTOR_1 % _MODULUS_1
        state[1] = state[1] * _FACTOR_2 % _MODULUS_2
        draw = (state[0] - state[1]) % (_MODULUS_1 - 1)
        j = draw * (i + 1) // (_MODULUS_1 - 1)
        order[i], order[j] = order[j], order[i]
