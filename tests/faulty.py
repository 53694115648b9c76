"""Evaluators that fail in every way we could think of, for `test_crosscheck_child`.

Each takes torchreid's arguments. `sound` is the one that the others spoil.
"""
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np


def sound(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50):
    aps, curves = [], []
    for row, pid, cam in zip(distmat, q_pids, q_camids):
        order = np.argsort(row, kind="stable")
        same = g_pids[order] == pid
        hits = same[~(same & (g_camids[order] == cam))]
        if hits.any():
            precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
            aps.append(precision[hits].mean())
            curves.append(np.maximum.accumulate(hits)[:max_rank])
    return np.mean(curves, axis=0), np.mean(aps)


# Wrong numbers.

def descending(distmat, *labels):
    return sound(-distmat, *labels)


def forgets_cameras(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
    return sound(distmat, q_pids, g_pids, q_camids - 100, g_camids)


def percent(*arguments):
    cmc, mean_ap = sound(*arguments)
    return 100 * cmc, 100 * mean_ap


def one_rank_late(*arguments):
    cmc, mean_ap = sound(*arguments)
    return np.append(0, cmc[:-1]), mean_ap


def one_rank_early(*arguments):
    cmc, mean_ap = sound(*arguments)
    return cmc[1:], mean_ap


def over_all_queries(*arguments):
    cmc, mean_ap = sound(*arguments)
    identities, gallery, camera, cameras = arguments[1:5]
    counted = [np.any((gallery == i) & (cameras != c)) for i, c in zip(identities, camera)]
    return cmc * np.mean(counted), mean_ap * np.mean(counted)


def capped(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
    """AP of the first ten places."""
    aps = []
    for row, pid, cam in zip(distmat, q_pids, q_camids):
        order = np.argsort(row, kind="stable")
        same = g_pids[order] == pid
        hits = same[~(same & (g_camids[order] == cam))]
        if hits.any():
            precision = (np.cumsum(hits) / np.arange(1, len(hits) + 1))[:10]
            aps.append(precision[hits[:10]].sum() / hits.sum())
    return sound(distmat, q_pids, g_pids, q_camids, g_camids)[0], np.mean(aps)


def lists(*arguments):
    cmc, mean_ap = sound(*arguments)
    return [cmc.tolist(), float(mean_ap)]


def not_a_number(*arguments):
    return np.full(50, np.nan), float("nan")


def nested(*arguments):
    return (sound(*arguments), (1, (2, (3,))))


def a_dict(*arguments):
    cmc, mean_ap = sound(*arguments)
    return {"cmc": cmc, "mAP": mean_ap}


def swapped(*arguments):
    cmc, mean_ap = sound(*arguments)
    return mean_ap, cmc


def complex_numbers(*arguments):
    cmc, mean_ap = sound(*arguments)
    return cmc + 0j, mean_ap


def just_above_one(*arguments):
    cmc, mean_ap = sound(*arguments)
    return cmc * (1 + 2.0**-52), mean_ap


def huge_curve(*arguments):
    return np.zeros(30_000_000), 0.5


def generator(*arguments):
    yield from sound(*arguments)


# Exceptions.

class Unspeakable(BaseException):
    def __str__(self):
        os._exit(9) if len(self.args) > 1 else sys.exit("no words")


class Escapes(Exception):
    pass


Escapes.__name__ = "Es\x1b[31mcapes\n"


def unspeakable(*arguments):
    raise Unspeakable("x")


def exits_in_its_message(*arguments):
    raise Unspeakable("x", "y")


def escapes(*arguments):
    raise Escapes("red \x1b[31m\r\nand\x07 loud")


def exits(*arguments):
    sys.exit("enough")


def interrupts(*arguments):
    raise KeyboardInterrupt


def stops(*arguments):
    raise StopIteration


def recursion(*arguments):
    return recursion(*arguments)


def long_message(*arguments):
    raise ValueError("x" * 10**7)


# The process.

def leaves(*arguments):
    os._exit(7)


def leaves_well(*arguments):
    os._exit(0)


def segmentation_fault(*arguments):
    ctypes.string_at(0)


def aborts(*arguments):
    os.abort()


def kills_itself(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)


def kills_its_group(*arguments):
    os.killpg(0, signal.SIGTERM)


def alarm(*arguments):
    signal.alarm(1)
    time.sleep(100)


def processor_time(*arguments):
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    while True:
        pass


def no_memory(*arguments):
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
    return np.zeros(2**32), 0.5


def no_files(*arguments):
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    return sound(*arguments)


def for_ever(*arguments):
    while True:
        pass


def sleeps(*arguments):
    time.sleep(1000)


def ignores_signals(*arguments):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(1000)


def stops_itself(*arguments):
    os.kill(os.getpid(), signal.SIGSTOP)


def hangs_on_one(*arguments):
    if len(arguments[1]) == 1 and arguments[1][0] == 4:
        time.sleep(1000)
    return sound(*arguments)


def crashes_on_one(*arguments):
    if len(arguments[1]) == 1 and arguments[1][0] == 4:
        os._exit(3)
    return sound(*arguments)


def crashes_as_a_whole(*arguments):
    if len(arguments[1]) > 1:
        os._exit(3)
    return sound(*arguments)


def forks(*arguments):
    """Comes back twice."""
    os.fork()
    return sound(*arguments)


def leaves_a_process(*arguments):
    subprocess.Popen(["sleep", "1000"])
    return sound(*arguments)


def leaves_a_process_and_dies(*arguments):
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(5)


def leaves_a_thread(*arguments):
    threading.Thread(target=time.sleep, args=(1000,)).start()
    return sound(*arguments)


def prints_for_ever(*arguments):
    os.write(1, b"xxxx")

    def shout():
        while True:
            os.write(1, b"x" * 1000)
    threading.Thread(target=shout, daemon=True).start()
    return sound(*arguments)


# Files and streams.

def closes_stdout(*arguments):
    os.close(1)
    return sound(*arguments)


def closes_streams(*arguments):
    sys.stdout.close()
    sys.stderr.close()
    return sound(*arguments)


def closes_everything(*arguments):
    os.closerange(0, 200)
    return sound(*arguments)


def writes_everywhere(*arguments):
    for descriptor in range(3, 50):
        try:
            os.set_blocking(descriptor, False)
            os.write(descriptor, b'\x20\0\0\0\0\0\0\0{"answer": {"mean_ap": [], "x": 1}}')
        except OSError:
            pass
    return sound(*arguments)


def forges(*arguments):
    for descriptor in range(3, 50):
        try:
            os.set_blocking(descriptor, False)
            os.write(descriptor, b"\xff" * 100)
        except OSError:
            pass
    return sound(*arguments)


def much_output(*arguments):
    for _ in range(100):
        os.write(1, b"y" * 2**20)
    return sound(*arguments)


def reads(*arguments):
    return input("how much? "), 0.5


def no_output(*arguments):
    sys.stdout = sys.stderr = None
    return sound(*arguments)


# Our state.

def breaks_numpy(*arguments):
    answer = sound(*arguments)
    for name in ("asarray", "ndim", "mean", "array", "array_equal"):
        setattr(np, name, None)
    return answer


def breaks_json(*arguments):
    import json
    json.dumps = None
    return sound(*arguments)


def breaks_os(*arguments):
    os._exit = os.write = os.read = os.getpid = lambda *_: 0
    return sound(*arguments)


def writes_on_input(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
    answer = sound(distmat, q_pids, g_pids, q_camids, g_camids)
    for array in (distmat, q_pids, g_pids, q_camids, g_camids):
        array[:] = 1
    return answer


def changes_our_state(*arguments):
    answer = sound(*arguments)
    os.chdir("/")
    os.environ["REID_REF_FAULTY"] = "1"
    np.random.seed(7)
    np.seterr(all="raise")
    warnings.simplefilter("ignore")
    sys.path.append("nowhere")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o777)
    return answer


def warns_unspeakably(*arguments):
    warnings.warn(Spoken(), stacklevel=1)
    return sound(*arguments)


class Spoken(UserWarning):
    def __str__(self):
        raise ValueError("no words")


def random(*arguments):
    cmc, mean_ap = sound(*arguments)
    return cmc, mean_ap * np.random.random()
