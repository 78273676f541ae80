#include "base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/line_output.h"
#include "base/utc.h"

namespace ridge::log {
namespace {

std::atomic<Level> current_level = Level::kInfo;
std::atomic<Format> current_format = Format::kText;
std::atomic<void (*)()> before_line = nullptr;
std::atomic<void (*)(Level, std::string_view)> own_writer = nullptr;

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarning: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
    case Level::kOff: return spdlog::level::off;
  }
  return spdlog::level::off;
}

// Names and engines' texts must neither begin a line of the log that looks like one of ours nor speak to the terminal.
std::string escaped(std::string_view message, bool lines) {
  std::string text;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7F) || (lines && c == '\n'))
      text += c;
    else if (c == '\n')
      text += "\\n";
    else
      text += fmt::format("\\x{:02x}", byte);
  }
  return text;
}

std::string_view name_of(spdlog::level::level_enum level) {
  const spdlog::string_view_t name = spdlog::level::to_string_view(level);
  return {name.data(), name.size()};
}

// Standard error, which may be a pipe whose reader has stopped.
class StandardError final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override { output_.write(line_of(message)); }
  void flush_() override {}

 private:
  std::string line_of(const spdlog::details::log_msg& message) {
    const std::string_view text(message.payload.data(), message.payload.size());
    if (current_format == Format::kJson) {
      Json line;
      line["time"] = utc_text(message.time);
      line["level"] = name_of(message.level);
      line["message"] = text;
      return dump_json(line) + "\n";
    }
    const std::string shown = escaped(text, false);
    spdlog::details::log_msg escaped_message(message.time, message.source, message.logger_name, message.level, shown);
    spdlog::memory_buf_t line;
    formatter_->format(escaped_message, line);
    return fmt::to_string(line);
  }
  std::string notice(uint64_t lines) {
    const std::string text = fmt::format("{} of the log dropped: what reads it had stopped",
                                         lines == 1 ? "1 line" : fmt::format("{} lines", lines));
    return line_of({"ridge", spdlog::level::warn, text});
  }

  LineOutput output_{STDERR_FILENO, [this](uint64_t lines) { return notice(lines); }};
};

// Leaked on purpose: threads of engines may still log while the process exits.
spdlog::logger& sink() {
  static spdlog::logger* logger = [] {
    auto* made = new spdlog::logger("ridge", std::make_shared<StandardError>());
    made->set_level(spdlog::level::trace);
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %v");
    return made;
  }();
  return *logger;
}

}  // namespace

void set_level(Level level) { current_level = level; }
Level level() { return current_level; }
void set_format(Format format) { current_format = format; }
Format format() { return current_format; }
std::optional<Format> format_of(std::string_view name) {
  if (name == "json") return Format::kJson;
  if (name == "text" || name == "default" || name == "ISO8601") return Format::kText;
  return std::nullopt;
}

void set_writer(void (*writer)(Level level, std::string_view message)) { own_writer = writer; }
void set_before_line(void (*ready)()) { before_line = ready; }

void write(Level level, std::string_view message) {
  if (level < current_level.load() || level == Level::kOff) return;
  if (auto* writer = own_writer.load()) return writer(level, escaped(message, true));
  if (void (*ready)() = before_line.load()) ready();
  sink().log(to_spdlog(level), message);
}

}  // namespace ridge::log
