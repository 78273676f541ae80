// Keeps a benchmark's server running once it listens. One per program, made before any thread starts.
#pragma once

#include <pthread.h>

#include <csignal>
#include <cstdint>
#include <cstdio>

class UntilSignalled {
 public:
  // Keeps SIGTERM and SIGINT from ending the program: its threads inherit the mask.
  UntilSignalled() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }

  // Prints the port of a Result<Server>, waits for a signal, and returns the program's status.
  template <typename Server>
  int serve(const Server& server) const {
    if (!server) {
      std::fprintf(stderr, "%s\n", server.error().message.c_str());
      return 3;
    }
    std::printf("%d\n", (*server)->port());
    std::fflush(stdout);
    int signal = 0;
    sigwait(&signals_, &signal);
    return 0;
  }

 private:
  sigset_t signals_;
};
