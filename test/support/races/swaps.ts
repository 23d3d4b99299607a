/** Processes in a box that swap what a path is, thousands of times a second, while the service works with that path. */

export const SWAPS = ["link", "directory", "fifo", "hard link", "growing", "shrinking", "rewritten"] as const;
export type Swap = (typeof SWAPS)[number];

/** Outside the workspace, but the box user's own: what is written or removed there went through a link. */
export const OUTSIDE = "/tmp/outside";
/** Lies in the directory that is swapped as a whole; all the other swaps are of this file. */
export const FILE = "t";

/** Arguments: kind, directory, targets of links to files, targets of links to directories (both as JSON). Runs until it is killed. */
export const SWAPPER = `
import ctypes, itertools, json, os, random, shutil, sys, time
kind, place, links, directories = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
side = "/workspace/.side-" + kind.replace(" ", "-")
target, spare = place + "/${FILE}", side + "/spare"
libc = ctypes.CDLL(None, use_errno=True)

def text(letter, lines=400): return (letter * 59 + "\\n").encode() * lines
def put(path, data):
    with open(path, "wb") as file: file.write(data)
def clear(path):
    try: os.unlink(path)
    except OSError: shutil.rmtree(path, ignore_errors=True)
def exchange(one, other): return libc.renameat2(-100, one.encode(), -100, other.encode(), 2) == 0
def pause():
    if random.random() < 0.7: time.sleep(random.random() * 0.0015)
def whole():
    if os.path.islink(place): os.unlink(place)
    os.makedirs(place, exist_ok=True)
def own(letter="o"):
    clear(spare)
    put(spare, text(letter))
    os.rename(spare, target)
    pause()
def instead(make):
    clear(spare)
    make(spare)
    os.rename(spare, target)
    pause()

def link():
    for goal in itertools.cycle(links):
        own()
        instead(lambda path: os.symlink(goal, path))
        yield
def fifo():
    while True:
        own()
        instead(os.mkfifo)
        yield
def hard_link():
    kept = side + "/kept"
    put(kept, text("H"))
    while True:
        own()
        instead(lambda path: os.link(kept, path))
        yield
def directory():
    for goal in itertools.cycle(directories):
        if not os.path.exists(target): own()
        clear(spare)
        os.symlink(goal, spare)
        if exchange(place, spare):
            pause()
            exchange(place, spare)
        pause()
        yield
def growing():
    while True:
        put(target, b"")
        with open(target, "ab", 0) as file:
            for _ in range(60):
                file.write(text("g", 100))
                if random.random() < 0.3: pause()
        yield
def shrinking():
    while True:
        put(target, text("s", 6000))
        for left in range(50, 0, -1):
            os.truncate(target, left * 6000)
            if random.random() < 0.3: pause()
        yield
def rewritten():
    put(target, text("A", 4000))
    for letter in itertools.cycle("BA"):
        with open(target, "r+b", 0) as file: file.write(text(letter, 4000))
        pause()
        yield

os.makedirs(side, exist_ok=True)
while True:
    # What the service removes or puts in the way is made again.
    try:
        whole()
        for _ in globals()[kind.replace(" ", "_")](): pass
    except OSError:
        time.sleep(0.001)
`;

/** Makes what nobody may reach from the workspace. Argument: the mark in it. */
export const MAKE_OUTSIDE = `
import os, sys
os.makedirs("${OUTSIDE}/sub", exist_ok=True)
for name in ("${FILE}", "outside-only", "sub/outside-only"):
    with open("${OUTSIDE}/" + name, "w") as file: file.write(sys.argv[1] + "\\n")
`;

/** Prints everything there, so that two looks can be compared. */
export const LOOK_OUTSIDE = `cd ${OUTSIDE} && find . -printf '%p %y %s %m %n %T@\\n' | sort && cat ${FILE} outside-only sub/outside-only`;
