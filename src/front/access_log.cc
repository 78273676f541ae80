#include "front/access_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/utc.h"

namespace ridge::front {
namespace {

constexpr size_t kMostWaiting = size_t{8} << 20;   // [bytes]
constexpr size_t kLongest = 512;                   // [bytes] of a field that clients choose
constexpr std::chrono::milliseconds kPeriod{100};  // between writes
constexpr std::string_view kStandardOutput = "-";

Descriptor open_to_append(const std::string& file) {
  return Descriptor(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640));
}

// A field of a line of text: no space, quote or control character of a client's text gets into it.
std::string word(std::string_view text) {
  if (text.empty()) return "-";
  std::string shown;
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7F && c != '"' && c != '\\')
      shown += c;
    else
      shown += fmt::format("\\x{:02x}", byte);
  }
  return shown;
}

double to_milliseconds(Nanoseconds duration) { return static_cast<double>(duration.count()) / 1e6; }

Json value(std::string_view text) { return text.empty() ? Json() : Json(text.substr(0, kLongest)); }

}  // namespace

std::string access_line(const AnsweredCall& call, std::chrono::system_clock::time_point time) {
  if (log::format() == log::Format::kText)
    return fmt::format("{} {} {} \"{} {}\" {} {} {} {} {:.3f} {} {}\n", utc_text(time), word(call.client),
                       word(call.key), word(call.method), word(call.path), word(call.model), word(call.status),
                       call.bytes_in, call.bytes_out, to_milliseconds(call.duration), word(call.request_id),
                       word(call.trace_id));
  Json line;
  line["time"] = utc_text(time);
  line["client"] = value(call.client);
  line["key"] = value(call.key);
  line["method"] = value(call.method);
  line["path"] = value(call.path);
  line["model"] = value(call.model);
  line["status"] = value(call.status);
  line["bytes_in"] = call.bytes_in;
  line["bytes_out"] = call.bytes_out;
  line["duration_ms"] = to_milliseconds(call.duration);
  line["request_id"] = value(call.request_id);
  line["trace_id"] = value(call.trace_id);
  return dump_json(line) + "\n";
}

Result<std::shared_ptr<AccessLog>> AccessLog::open(const std::string& file) {
  Descriptor opened;
  if (file != kStandardOutput) {
    opened = open_to_append(file);
    if (!opened)
      return Error{Code::kFailed, "--access-log " + file + ": " + std::strerror(errno) +
                                      "; name a file that the server may append to, or - for standard output"};
  }
  return std::shared_ptr<AccessLog>(new AccessLog(file, std::move(opened)));
}

AccessLog::AccessLog(std::string file, Descriptor opened)
    : file_(std::move(file)),
      backlog_(kMostWaiting),
      opened_(std::move(opened)),
      output_(opened_ ? opened_.number() : STDOUT_FILENO,
              [](uint64_t lines) {
                return fmt::format("# {} of the access log dropped: they could not be written\n",
                                   lines == 1 ? "1 line" : fmt::format("{} lines", lines));
              }),
      thread_([this](const std::stop_token& stop) {
        Clock& clock = system_clock();
        while (clock.sleep_until(clock.now() + kPeriod, stop)) flush();
      }) {}

AccessLog::~AccessLog() {
  thread_.request_stop();
  thread_.join();
  flush();
}

void AccessLog::record(const AnsweredCall& call) {
  std::string line = access_line(call, std::chrono::system_clock::now());
  const size_t size = line.size() + sizeof(std::string);
  backlog_.put(std::move(line), size);
}

// A file that cannot be opened leaves the one before in use, with one warning.
void AccessLog::follow_name() {
  if (!opened_) return;
  struct stat named {
  }, own{};
  if (::stat(file_.c_str(), &named) == 0 && ::fstat(opened_.number(), &own) == 0 && named.st_dev == own.st_dev &&
      named.st_ino == own.st_ino)
    return;
  Descriptor next = open_to_append(file_);
  if (!next) {
    if (!std::exchange(warned_, true))
      log::warning("--access-log {}: {}; lines still go to the file that was open", file_, std::strerror(errno));
    return;
  }
  warned_ = false;
  output_.set_descriptor(next.number());
  opened_ = std::move(next);
}

void AccessLog::flush() {
  Backlog<std::string>::Taken taken = backlog_.take();
  MutexLock lock(mutex_);
  follow_name();
  output_.count_dropped(taken.dropped);
  std::string lines;
  for (const std::string& line : taken.values) lines += line;
  output_.write(lines);
  const int error = output_.error();
  if (!std::exchange(write_failed_, error != 0) && error != 0)
    log::warning("--access-log {}: {}; lines are dropped until they can be written", file_, std::strerror(error));
}

}  // namespace ridge::front
