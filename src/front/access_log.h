// AccessLog: one line per answered call, for all protocols.
//
// No request waits for it: a thread writes the lines ten times a second; what is not taken is dropped and counted. The
// file is followed by its name: when that names another file, as after logrotate, the next lines go there. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/line_output.h"
#include "base/mutex.h"
#include "base/result.h"
#include "front/backlog.h"

namespace ridge::front {

// Texts that are empty are not known.
struct AnsweredCall {
  std::string_view client = {};  // its address; "unix" by a socket of this machine
  std::string_view key = {};     // the name of its key, never the key
  std::string_view method = {};  // "POST", "GRPC"
  std::string_view path = {};    // without query
  std::string_view model = {};
  std::string_view status = {};  // "200", "NOT_FOUND"
  uint64_t bytes_in = 0;         // of the request's body or messages
  uint64_t bytes_out = 0;        // of the answer's, as far as sent
  Nanoseconds duration{0};       // from the request's first byte to the answer's last
  std::string_view request_id = {};
  std::string_view trace_id = {};
};

// One line with its end: by log::format() JSON, or the fields in that order behind the time.
std::string access_line(const AnsweredCall& call, std::chrono::system_clock::time_point time);

class AccessLog {
 public:
  // `file`: "-" is standard output. kFailed: it cannot be opened.
  static Result<std::shared_ptr<AccessLog>> open(const std::string& file);
  ~AccessLog();  // writes what is left

  void record(const AnsweredCall& call);
  // Writes what was recorded.
  void flush();

 private:
  AccessLog(std::string file, Descriptor opened);
  void follow_name() RIDGE_REQUIRES(mutex_);

  const std::string file_;
  Backlog<std::string> backlog_;
  Mutex mutex_;
  Descriptor opened_ RIDGE_GUARDED_BY(mutex_);  // none: standard output
  LineOutput output_ RIDGE_GUARDED_BY(mutex_);
  bool warned_ RIDGE_GUARDED_BY(mutex_) = false;        // the name cannot be opened
  bool write_failed_ RIDGE_GUARDED_BY(mutex_) = false;  // since the last line that was written
  std::jthread thread_;                                 // last: ends first
};

}  // namespace ridge::front
