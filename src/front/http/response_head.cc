// The text of a response's status line and fields.
#include <array>
#include <charconv>

#include "front/http/http1_connection.h"

namespace ridge::front::http {
namespace {

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

void append_number(std::string& text, uint64_t number) {
  std::array<char, 20> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void append_field(std::string& text, std::string_view name, std::string_view value) {
  text.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

void Http1Connection::write_head() {
  size_t length = response_.text.size();
  for (std::span<const std::byte> blob : response_.blobs) length += blob.size();
  head_.assign("HTTP/1.1 ");
  append_number(head_, static_cast<uint64_t>(response_.status));
  head_.append(" ").append(reason(response_.status)).append("\r\n");
  append_field(head_, "Content-Type", response_.content_type);
  if (response_.has_inference_length) {
    head_.append("Inference-Header-Content-Length: ");
    append_number(head_, response_.inference_length);
    head_.append("\r\n");
  }
  if (!response_.content_encoding.empty()) append_field(head_, "Content-Encoding", response_.content_encoding);
  if (!response_.allow.empty()) append_field(head_, "Allow", response_.allow);
  if (!response_.authenticate.empty()) append_field(head_, "WWW-Authenticate", response_.authenticate);
  if (response_.retry_after_s > 0) append_field(head_, "Retry-After", std::to_string(response_.retry_after_s));
  if (!keep_alive_)
    append_field(head_, "Connection", "close");
  else if (parser_.head().http_1_0)
    append_field(head_, "Connection", "keep-alive");
  if (response_.stream) {
    append_field(head_, "Cache-Control", "no-cache");
    append_field(head_, "X-Accel-Buffering", "no");  // nginx would hold it back
    if (!parser_.head().http_1_0) append_field(head_, "Transfer-Encoding", "chunked");
    head_.append("\r\n");
    return;
  }
  head_.append("Content-Length: ");
  append_number(head_, length);
  head_.append("\r\n\r\n");
}

}  // namespace ridge::front::http
