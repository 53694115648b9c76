"""Memory that each thread keeps."""
import math
from threading import local
from typing import Any

import numpy as np
import numpy.typing as npt


#: Memory of each thread; to take and return it tile by tile takes longer than to sort in it.
_room = local()


def scratch(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an array in the memory of this thread, which the next call for `name` takes again."""
    size = math.prod(shape) * dtype.itemsize
    room = getattr(_room, name, None)
    if room is None or len(room) < size:
        room = np.empty(size, np.uint8)
        setattr(_room, name, room)
    return room[:size].view(dtype).reshape(shape)
