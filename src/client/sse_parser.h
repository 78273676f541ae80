// SseParser: bytes of type text/event-stream → the data of one event after another (WHATWG HTML, 9.2).
//
// Sans I/O. Stricter than a browser: a line whose field is none of data, event, id and retry is an error, since it
// shows that the server sends something else. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace ridge::client {

class SseParser {
 public:
  static constexpr size_t kMostEvent = 1 << 20;  // [bytes] of a line, and of the data of an event

  using OnEvent = std::function<void(std::string_view data)>;

  void reset();  // for the next body
  // False: this is not an event stream, see problem(); nothing more is read.
  bool feed(std::string_view bytes, const OnEvent& on_event);
  // The body has ended. Unlike a browser it takes a last event without its empty line, as the `openai` client does.
  bool end(const OnEvent& on_event);
  const std::string& problem() const { return problem_; }

 private:
  bool take_line(std::string_view line, const OnEvent& on_event);
  void dispatch(const OnEvent& on_event);
  bool fail(std::string problem);

  std::string line_;  // the beginning of one whose end has not come
  std::string data_;  // of the event so far
  bool has_data_ = false, after_cr_ = false, first_line_ = true;
  std::string problem_;
};

}  // namespace ridge::client
