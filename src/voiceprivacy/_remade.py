"""Objects that hold a loaded model travel between processes as what they were made with."""

import pickle
from functools import lru_cache


class Remade:
    """Pickled as its class and arguments; made again once in each process that receives it."""

    def __new__(cls, *args, **options):
        made = super().__new__(cls)
        made._made_with = args, options
        return made

    def __reduce__(self):
        return _made, (type(self), pickle.dumps(self._made_with))


@lru_cache(maxsize=4)
def _made(kind: type, made_with: bytes) -> Remade:
    args, options = pickle.loads(made_with)
    return kind(*args, **options)
