#include "serve/stop_texts.h"

#include <algorithm>

namespace ridge::serve {

// The place from which the text may become one of them.
size_t StopTexts::begin_of_stop() const {
  size_t begin = held_.size();
  for (const std::string& stop : stops_)
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > held_.size() - begin; --length)
      if (held_.ends_with(std::string_view(stop).substr(0, length))) begin = held_.size() - length;
  return begin;
}

std::string StopTexts::add(std::string_view text, bool look) {
  held_ += text;
  if (!look) return end();
  size_t first = std::string::npos;
  for (const std::string& stop : stops_)
    if (const size_t place = held_.find(stop); place < first) {
      first = place;
      found_ = stop;
    }
  std::string certain = held_.substr(0, found_ ? first : begin_of_stop());
  held_.erase(0, certain.size());
  if (!found_) return certain;
  held_.clear();
  return include_ ? certain + *found_ : certain;
}

}  // namespace ridge::serve
