// A child process that undoes this process's settings if it ends without doing so: killed, crashed, or out of memory.
// It waits for the end of a pipe and does nothing else; signals to the process group do not reach it (a session of its
// own), and SIGINT, SIGTERM and SIGHUP do not end it. Only if both are killed at the same moment nothing is undone.
//
// Move-only; one thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ridge::power {

class Guard {
 public:
  // Starts the process: a fork of this one, so call it while there is one thread, and before a driver's library is open
  // (drivers do not survive a fork). `undo` runs there, with the last order, when this process has ended without
  // release(); it may open libraries and may take long.
  static Result<Guard> start(const std::function<void(const std::string& order)>& undo);
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&& other) noexcept;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();  // as release()

  // Replaces the order to undo; one line of text. Error: the guard is gone.
  Status tell(std::string_view order);
  // True if it still runs: it may have been killed.
  bool alive();
  // Nothing is left to undo; ends it and waits for its exit.
  void release();
  pid_t process() const { return child_; }

 private:
  Guard(pid_t child, int pipe) : child_(child), pipe_(pipe) {}
  Status send(std::string_view line);
  pid_t child_ = -1;
  int pipe_ = -1;
};

}  // namespace ridge::power
