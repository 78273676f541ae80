#include "cli/program.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace ridge::cli {

void set_log_level_from_environment() {
  const char* wanted = std::getenv("RIDGE_LOG");
  if (wanted == nullptr) return;
  constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};
  auto found = std::find(std::begin(kNames), std::end(kNames), std::string_view(wanted));
  if (found == std::end(kNames)) {
    log::warning("RIDGE_LOG={} is ignored: the levels are debug, info, warning, error and off", wanted);
  } else {
    log::set_level(static_cast<log::Level>(found - std::begin(kNames)));
  }
}

namespace {

// The verb fails if the system did not take its output (a full disk). A reader that has left, `| head`, is fine.
int with_output_written(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  if (errno == EPIPE || reader_left()) return status;
  say(std::string("ridge: standard output could not be written") +
      (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
  return std::max<int>(status, kFailed);
}

}  // namespace

int run_program(int argc, char** argv, int (*run)(std::span<const std::string> arguments)) {
  // The files that a verb was asked for are written also where the reader of its text leaves early.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const std::vector<std::string> arguments(argv + 1, argv + std::max(argc, 1));
    return with_output_written(run(arguments));
  } catch (const std::exception& e) {  // memory ran out; everything else is a value
    say(std::string("ridge: ") + e.what());
    return kFailed;
  }
}

}  // namespace ridge::cli
