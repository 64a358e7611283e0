// Notes where the program was when a signal ended it: the signal, the address that it wanted, and the calls under way.
#include <execinfo.h>

namespace smemviz {
namespace {

void note(int number, siginfo_t *how, void *) {
  const char *folder = getenv("SMEMVIZ_FOLDER");
  char path[4096];
  snprintf(path, sizeof path, "%s/crash", folder);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  void *calls[64];
  const int count = backtrace(calls, 64);
  dprintf(file, "%d %llx\n", number, (unsigned long long)how->si_addr);
  // The third is where the signal came; those after it are where calls return to, which may be another line.
  for (int call = 0; call < count; call++) dprintf(file, "%llx\n", (unsigned long long)calls[call] - (call > 2));
  close(file);
  signal(number, SIG_DFL);
  raise(number);
}

const int watching = [] {
  void *first[1];
  backtrace(first, 1);  // loads what it needs, which a handler may not
  static char stack[1 << 16];
  stack_t own = {};
  own.ss_sp = stack, own.ss_size = sizeof stack;
  sigaltstack(&own, nullptr);
  struct sigaction what = {};
  what.sa_sigaction = note, what.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(number, &what, nullptr);
  return 0;
}();

}  // namespace
}  // namespace smemviz
