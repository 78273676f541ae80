#include "client/sse_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ridge::client {
namespace {

constexpr std::array<std::string_view, 4> kFields = {"data", "event", "id", "retry"};
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kShown = 80;  // [bytes] of a line, in errors

}  // namespace

void SseParser::reset() {
  line_.clear();
  data_.clear();
  problem_.clear();
  has_data_ = after_cr_ = false;
  first_line_ = true;
}

// Lines end with LF, CR LF or CR.
bool SseParser::feed(std::string_view bytes, const OnEvent& on_event) {
  if (!problem_.empty()) return false;
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    if (line_.size() + std::min(end, bytes.size()) > kMostEvent)
      return fail(fmt::format("a line of the stream is longer than {} bytes", kMostEvent));
    if (end == bytes.npos) {
      line_.append(bytes);
      return true;
    }
    after_cr_ = bytes[end] == '\r';
    const bool whole = line_.empty();
    if (!whole) line_.append(bytes.substr(0, end));
    if (!take_line(whole ? bytes.substr(0, end) : std::string_view(line_), on_event)) return false;
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
  return true;
}

bool SseParser::end(const OnEvent& on_event) {
  if (!problem_.empty()) return false;
  if (!line_.empty() && !take_line(line_, on_event)) return false;
  dispatch(on_event);
  return true;
}

bool SseParser::take_line(std::string_view line, const OnEvent& on_event) {
  if (std::exchange(first_line_, false) && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.empty()) return dispatch(on_event), true;
  if (line.front() == ':') return true;  // a comment, which keeps the connection alive
  const size_t colon = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, colon);
  if (std::find(kFields.begin(), kFields.end(), field) == kFields.end())
    return fail(
        fmt::format("a line of the stream is not a field of a server-sent event: '{}'", line.substr(0, kShown)));
  if (field != "data") return true;
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (data_.size() + value.size() >= kMostEvent)
    return fail(fmt::format("an event of the stream is longer than {} bytes", kMostEvent));
  if (has_data_) data_ += '\n';
  data_ += value;
  has_data_ = true;
  return true;
}

void SseParser::dispatch(const OnEvent& on_event) {
  if (has_data_) on_event(data_);
  data_.clear();
  has_data_ = false;
}

bool SseParser::fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

}  // namespace ridge::client
