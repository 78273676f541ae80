#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>

namespace ridge::log {
namespace {

std::atomic<Level> current_level = Level::kInfo;
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

// Leaked on purpose: threads of engines may still log while the process exits.
spdlog::logger& sink() {
  static spdlog::logger* logger = [] {
    auto* made = new spdlog::logger("ridge", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::trace);
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %v");
    return made;
  }();
  return *logger;
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

}  // namespace

void set_level(Level level) { current_level = level; }
Level level() { return current_level; }

void set_writer(void (*writer)(Level level, std::string_view message)) { own_writer = writer; }
void set_before_line(void (*ready)()) { before_line = ready; }

void write(Level level, std::string_view message) {
  if (level < current_level.load() || level == Level::kOff) return;
  if (auto* writer = own_writer.load()) return writer(level, escaped(message, true));
  if (void (*ready)() = before_line.load()) ready();
  sink().log(to_spdlog(level), escaped(message, false));
}

}  // namespace ridge::log
