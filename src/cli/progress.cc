#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/log.h"
#include "cli/own_colours.h"
#include "cli/paragraph.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kFall = 0.05;  // of the share, from which another part has begun
constexpr double kLeastRun_s = 2, kLeastShare = 0.03;
constexpr seconds kFirstLine{2}, kBetweenLines{5};
constexpr milliseconds kFirstBar{500}, kBetweenBars{100};

std::atomic<bool> bar_on_terminal = false;

// Not by stdio: its lock could be held in a child that was forked meanwhile.
void write_error(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

// "8 s", "2 min 10 s", "1 h 5 min".
std::string duration_text(double duration_s) {
  const auto whole = static_cast<int64_t>(std::llround(std::max(0.0, duration_s)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

// An estimate has no digits that it does not know: to 5 s, from a minute on to 10 s.
std::string rough_duration_text(double duration_s) {
  const double step = duration_s < 10 ? 1 : duration_s < 60 ? 5 : 10;
  return duration_text(std::max(1.0, std::ceil(duration_s / step) * step));
}

}  // namespace

ProgressState::ProgressState(std::string_view what, TimePoint now) : what_(what), started_(now) {}

void ProgressState::update(std::string_view step, double share_done, TimePoint now) {
  step_ = step;
  if (!(share_done >= 0 && share_done < 1)) {
    now_ = from_ = std::nullopt;
    return;
  }
  const bool fell = now_ && share_done < now_->share - kFall;
  began_again_ = began_again_ || fell;
  now_ = {now, share_done};
  if (fell || !from_ || share_done <= from_->share) from_ = now_;
}

std::optional<double> ProgressState::remaining_s(TimePoint now) const {
  if (!now_ || !from_) return std::nullopt;
  const double run_s = to_seconds(now_->at - from_->at), share = now_->share - from_->share;
  if (run_s < kLeastRun_s || share < kLeastShare) return std::nullopt;
  return std::max(0.0, (1 - now_->share) / share * run_s - to_seconds(now - now_->at));
}

std::string ProgressState::times(TimePoint now) const {
  std::string text = duration_text(to_seconds(now - started_));
  if (const std::optional<double> remaining = remaining_s(now))
    text += ", about " + rough_duration_text(*remaining) + (began_again_ ? " left of this part" : " left");
  return text;
}

std::string ProgressState::bar(TimePoint now, size_t columns) const {
  std::string text = what_ + "  ";
  if (now_) {
    const size_t cells = std::clamp<size_t>(columns / 6, 8, 30);
    const auto full = static_cast<size_t>(now_->share * static_cast<double>(cells));
    text += "[" + std::string(full, '#') + std::string(cells - full, '.') + "]";
    text += fmt::format(" {:3.0f} %  ", std::floor(100 * now_->share));
  }
  return cut(text + times(now) + "  " + step_, columns);
}

std::optional<std::string> ProgressState::due_line(TimePoint now) {
  if (now - started_ < kFirstLine || step_ == last_step_) return std::nullopt;
  if (last_line_ && now - *last_line_ < kBetweenLines) return std::nullopt;
  last_line_ = now;
  last_step_ = step_;
  return fmt::format("{}: {}{}: {}", what_, now_ ? fmt::format("{:.0f} %, ", std::floor(100 * now_->share)) : "",
                     times(now), step_);
}

Progress::Progress(std::string_view what)
    : shown_(!is_quiet()),
      terminal_(takes_escapes(STDERR_FILENO)),
      started_(SteadyClock::now()),
      state_(what, started_),
      drawn_at_(started_) {
  if (!shown_ || !terminal_) return;
  log::set_before_line(erase_progress);
  ticker_ = std::jthread([this](const std::stop_token& stop) {
    while (system_clock().sleep_until(SteadyClock::now() + seconds(1), stop)) draw(true);
  });
}

Progress::~Progress() { finish(); }

void Progress::update(std::string_view step, double share_done) {
  {
    const MutexLock held(mutex_);
    state_.update(step, share_done, SteadyClock::now());
  }
  draw(false);
}

void Progress::draw(bool at_once) {
  if (!shown_) return;
  const TimePoint now = SteadyClock::now();
  std::string text;
  {
    const MutexLock held(mutex_);
    if (finished_) return;
    if (!terminal_) {
      text = state_.due_line(now).value_or("");
    } else if (now - started_ >= kFirstBar && (at_once || now - drawn_at_ >= kBetweenBars)) {
      drawn_at_ = now;
      text = state_.bar(now, std::min<size_t>(error_columns(), 1000) - 1);
    }
  }
  if (text.empty()) return;
  if (!terminal_) return say(text);
  bar_on_terminal = true;
  write_error("\r\x1b[K" + in_locale(without_controls(text, LineEnds::kEscaped)));
}

void Progress::finish() {
  {
    const MutexLock held(mutex_);
    finished_ = true;
  }
  if (ticker_.joinable()) {
    ticker_.request_stop();
    ticker_.join();
  }
  erase_progress();
}

void erase_progress() {
  if (bar_on_terminal.exchange(false)) write_error("\r\x1b[K");
}

}  // namespace ridge::cli
