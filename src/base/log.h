// The process's log: one sink, standard error, shared by ridge and by the engines it loads. Results never go here. No
// caller waits for what reads it: lines that it does not take are dropped, and counted in a line when it reads again.
// Thread-safe. Format strings are fmt's, checked at compile time.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ridge::log {

enum class Level { kDebug, kInfo, kWarning, kError, kOff };

// kJson: an object a line, {"time":"2026-11-26T01:38:36.123Z","level":"info","message":"…"}.
enum class Format { kText, kJson };

void set_level(Level level);
Level level();
void set_format(Format format);
Format format();
// "json", or "text", which Triton's "default" and "ISO8601" mean too. nullopt: another name.
std::optional<Format> format_of(std::string_view name);
// Control characters are escaped, in a line of the log the ends of lines too.
void write(Level level, std::string_view message);
// Shows a message in place of the log line with its time; from any thread.
void set_writer(void (*writer)(Level level, std::string_view message));
// `ready` is called before each line, from any thread: what shares the terminal makes place.
void set_before_line(void (*ready)());

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::kDebug) write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::kInfo) write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::kWarning) write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::kError) write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ridge::log
