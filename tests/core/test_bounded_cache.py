"""What a bounded cache keeps, and what it drops."""

from concurrent.futures import ThreadPoolExecutor

from nacre.core.bounded_cache import BoundedCache


def filled(size: int, *keys: str) -> BoundedCache[str, int]:
    cache: BoundedCache[str, int] = BoundedCache(size)
    for number, key in enumerate(keys):
        cache[key] = number
    return cache


def test_the_oldest_entry_is_dropped() -> None:
    assert dict(filled(2, "a", "b", "c")) == {"b": 1, "c": 2}


def test_an_entry_that_is_stored_again_is_new() -> None:
    assert dict(filled(2, "a", "b", "a", "c")) == {"a": 2, "c": 3}


def test_an_entry_that_is_used_is_new() -> None:
    cache = filled(2, "a", "b")

    assert cache.use("a") == 0
    cache["c"] = 2

    assert list(cache) == ["a", "c"]


def test_an_entry_that_is_only_read_stays_old() -> None:
    cache = filled(2, "a", "b")

    assert cache["a"] == cache.get("a") == 0
    cache["c"] = 2

    assert "a" not in cache


def test_what_is_not_there_is_not_used() -> None:
    cache = filled(2, "a")

    assert cache.use("b") is None
    assert list(cache) == ["a"]


def test_a_default_counts_as_an_entry() -> None:
    cache = filled(2, "a", "b")

    assert cache.setdefault("c", 5) == 5
    assert list(cache) == ["b", "c"]


def test_threads_may_share_one() -> None:
    cache: BoundedCache[int, int] = BoundedCache(8)

    def work(start: int) -> None:
        for number in range(start, start + 5000):
            cache[number % 31] = number
            cache.use(number % 7)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))

    cache[99] = 99
    assert cache[99] == 99
    assert len(cache) <= 8
