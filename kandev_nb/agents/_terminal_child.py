"""Becomes the CLI of a terminal, once the terminal on its standard input is its controlling one.

Run as a file with ``python -I -S``, so it imports the standard library only. It leads its session
already. Its first argument is a pipe, which ends when the CLI runs; the number of the error comes
over it when the CLI cannot be started. The rest is the command.
"""

import fcntl
import os
import signal
import sys
import termios


def main() -> None:
    """Take the terminal, then become the command."""
    told, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(told, False)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # A command expects the signals as a shell hands them on, whatever this interpreter, or the
    # kernel's own start, made of them.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        os.write(told, str(error.errno).encode())
        sys.exit(127)


if __name__ == "__main__":
    main()
