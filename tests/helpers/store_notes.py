"""Small changes of a store, which distinguish its versions."""

import threading


def note(text):
    """Return a change that adds one dataset named ``text``."""

    def change(connection):
        connection.execute(
            "insert into datasets (dataset, position, title, kind, simulated, content) select $t, 0, $t, 'single', false, ''",
            {"t": text},
        )

    return change


def notes(store):
    """Return the names of the datasets."""
    return [row[0] for row in store.snapshot().rows("select dataset from datasets order by 1")]


def check_reading_while_writing(reader, writer):
    """Check that threads read one complete version after the other while another thread writes. The store must be new."""
    writer.write(note("n00"))
    wrong, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            snapshot = reader.snapshot()
            rows = snapshot.rows("select count(*) from datasets")[0][0]
            if rows != int(snapshot.version.split("-")[0]):
                wrong.append((snapshot.version, rows))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for thread in readers:
        thread.start()
    for index in range(1, 8):
        writer.write(note(f"n{index:02}"))
    stop.set()
    for thread in readers:
        thread.join()
    assert wrong == []


def spoil_file(path):
    """Change a bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
