#include "front/http/parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <span>

#include "base/chunk_reader.h"

namespace ridge::front::http {
namespace {

namespace beast = boost::beast;
using beast::string_view;
using beast::http::field;
using ErrorCode = beast::error_code;

std::string_view plain(string_view text) { return {text.data(), text.size()}; }

// A repeated list header means the joined list (RFC 9110, 5.3).
void join(std::optional<std::string>& list, string_view value) {
  if (list)
    list->append(", ").append(plain(value));
  else
    list.emplace(plain(value));
}

// True if a page's origin, "http://localhost:8000", is another server than the one the request is for.
bool is_foreign(std::string_view origin, std::string_view host) {
  const size_t scheme = origin.find("://");  // "null" has none
  return scheme == std::string_view::npos ||
         !beast::iequals({origin.data() + scheme + 3, origin.size() - scheme - 3}, {host.data(), host.size()});
}

// Host's name is one that no other machine's owner can let point here: an address, or localhost (RFC 6761, 6.3).
bool is_address_or_localhost(std::string_view host) {
  if (host.starts_with('[')) return true;
  const std::string_view name = host.substr(0, host.rfind(':'));
  if (name.find_first_not_of("0123456789.") == std::string_view::npos) return true;
  constexpr std::string_view kLocal = "localhost";
  if (name.size() < kLocal.size()) return false;
  const std::string_view end = name.substr(name.size() - kLocal.size());
  return beast::iequals({end.data(), end.size()}, {kLocal.data(), kLocal.size()}) &&
         (name.size() == kLocal.size() || name[name.size() - kLocal.size() - 1] == '.');
}

// Keeps only the fields that the connection needs: never builds a container of headers. Parses heads alone: an empty
// chunked body in two pieces ends Beast 1.74 by an assertion (boostorg/beast#2861), so bodies are ChunkReader's.
class Collector final : public beast::http::basic_parser<true> {
 public:
  explicit Collector(Head& head) : head_(head) {
    body_limit(std::numeric_limits<uint64_t>::max());  // boost::none, "no limit", refuses every body in Boost 1.74
    eager(false);
  }

  const char* problem() const { return problem_; }
  bool expects_other() const { return expects_other_; }
  int codings() const { return codings_; }
  bool plain_chunked() const { return plain_chunked_; }

 private:
  void on_request_impl(beast::http::verb method, string_view, string_view target, int version, ErrorCode&) override {
    using beast::http::verb;
    head_.method = method == verb::post   ? Method::kPost
                   : method == verb::get  ? Method::kGet
                   : method == verb::head ? Method::kHead
                                          : Method::kOther;
    head_.target.assign(target.data(), target.size());
    head_.http_1_0 = version < 11;
  }
  void on_response_impl(int, string_view, int, ErrorCode&) override {}
  void on_field_impl(field name, string_view text, string_view value, ErrorCode& ec) override {
    if (name == field::unknown) {
      if (beast::iequals(text, "Sec-Fetch-Site")) {
        head_.of_page = true;
        head_.cross_site = beast::iequals(value, "cross-site");
      }
      if (beast::iequals(text, "traceparent")) head_.trace_parent.emplace(plain(value));
      if (beast::iequals(text, "tracestate")) join(head_.trace_state, value);
      if (beast::iequals(text, "x-api-key")) return take_once(head_.api_key, value, "two x-api-key fields", ec);
      if (!beast::iequals(text, "Inference-Header-Content-Length")) return;
      if (head_.inference_length && *head_.inference_length != plain(value)) {
        problem_ = "Inference-Header-Content-Length is given twice with different values";
        ec = beast::http::error::bad_value;
      }
      head_.inference_length.emplace(plain(value));
    } else if (name == field::content_encoding) {
      join(head_.content_encoding, value);
    } else if (name == field::accept_encoding) {
      join(head_.accept_encoding, value);
    } else if (name == field::transfer_encoding) {
      ++codings_;
      plain_chunked_ = beast::iequals(value, "chunked");
    } else if (name == field::host) {
      take_once(head_.host, value, "two Host fields", ec);
    } else if (name == field::authorization) {
      take_once(head_.authorization, value, "two Authorization fields", ec);
    } else if (name == field::origin) {
      head_.origin.emplace(plain(value));
    } else if (name == field::expect) {
      (beast::iequals(value, "100-continue") ? head_.expects_continue : expects_other_) = true;
    }
  }
  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(string_view body, ErrorCode&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, string_view, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, ErrorCode&) override { return body.size(); }
  void on_finish_impl(ErrorCode&) override {}

  void take_once(std::optional<std::string>& into, string_view value, const char* problem, ErrorCode& ec) {
    if (into) {
      problem_ = problem;
      ec = beast::http::error::bad_value;
    }
    into.emplace(plain(value));
  }

  Head& head_;
  int codings_ = 0;
  bool plain_chunked_ = false;
  bool expects_other_ = false;
  const char* problem_ = nullptr;
};

}  // namespace

struct RequestParser::Impl {
  uint32_t header_limit;
  Head head;
  std::optional<Collector> parser;
  size_t head_bytes = 0;
  std::optional<ChunkReader> chunks;
  uint64_t chunked_bytes = 0;
  std::string problem;
  int status = 400;

  Step bad(int why, std::string text) {
    status = why;
    problem = std::move(text);
    return {Event::kBad, 0};
  }
};

RequestParser::RequestParser(uint32_t header_limit) : impl_(std::make_unique<Impl>()) {
  impl_->header_limit = header_limit;
  reset();
}

RequestParser::~RequestParser() = default;

void RequestParser::reset() {
  Head& head = impl_->head;
  head.method = Method::kOther;
  head.http_1_0 = false;
  head.inference_length.reset();
  head.content_encoding.reset();
  head.accept_encoding.reset();
  head.content_length.reset();
  head.host.reset();
  head.origin.reset();
  head.authorization.reset();
  head.api_key.reset();
  head.trace_parent.reset();
  head.trace_state.reset();
  head.expects_continue = false;
  head.of_page = head.cross_site = head.renamed = false;
  impl_->head_bytes = 0;
  impl_->chunks.reset();
  impl_->chunked_bytes = 0;
  impl_->parser.emplace(head);
  impl_->parser->header_limit(impl_->header_limit);
}

RequestParser::Step RequestParser::feed_head(std::string_view input) {
  Impl& impl = *impl_;
  size_t skipped = 0;  // empty lines before a request are harmless leftovers of old clients (RFC 9112, 2.2)
  if (impl.head_bytes == 0)
    while (skipped < input.size() && (input[skipped] == '\r' || input[skipped] == '\n')) ++skipped;
  input.remove_prefix(skipped);
  if (input.empty()) return {Event::kNeedMore, skipped};

  ErrorCode ec;
  size_t used = impl.parser->put(boost::asio::const_buffer(input.data(), input.size()), ec);
  impl.head_bytes += used;
  bool too_long = impl.head_bytes > impl.header_limit || input.size() - used >= impl.header_limit;
  if (ec == beast::http::error::header_limit || ((!impl.parser->is_header_done()) && too_long))
    return impl.bad(431, "the request's headers are longer than " + std::to_string(impl.header_limit) + " bytes");
  if (ec == beast::http::error::need_more) return {Event::kNeedMore, skipped + used};
  if (ec == beast::http::error::bad_version) return impl.bad(505, "only HTTP/1.1 and HTTP/1.0 are served");
  if (ec) {
    const char* own = impl.parser->problem();
    return impl.bad(400, own != nullptr ? own : "malformed HTTP request: " + ec.message());
  }
  if (!impl.parser->is_header_done()) return {Event::kNeedMore, skipped + used};

  const std::string_view fields = input.substr(0, used);
  if (fields.find("\r\n ") != fields.npos || fields.find("\r\n\t") != fields.npos)  // RFC 9112, 5.2
    return impl.bad(400, "a header field continues on the next line, which HTTP/1.1 has given up");

  Head& head = impl.head;
  head.keep_alive = impl.parser->keep_alive();
  head.chunked = impl.parser->chunked();
  if (!head.host && !head.http_1_0) return impl.bad(400, "the request has no Host field");
  if (impl.parser->expects_other()) return impl.bad(417, "of expectations only 100-continue can be met");
  if (head.origin && is_foreign(*head.origin, head.host.value_or(""))) head.cross_site = true;
  head.renamed = (head.origin || head.of_page) && !is_address_or_localhost(head.host.value_or(""));
  if (impl.parser->codings() > 0) {
    if (impl.parser->codings() > 1 || !impl.parser->plain_chunked())
      return impl.bad(501, "this Transfer-Encoding is not supported; send the body as is or as 'chunked'");
    if (head.http_1_0) return impl.bad(400, "HTTP/1.0 has no Transfer-Encoding");
  }
  if (auto length = impl.parser->content_length(); length && !head.chunked) head.content_length = *length;
  return {Event::kHead, skipped + used};
}

RequestParser::Step RequestParser::feed_chunks(std::string_view input, Body& body, uint64_t limit) {
  Impl& impl = *impl_;
  if (!impl.chunks) impl.chunks.emplace(impl.header_limit);
  size_t used = 0;
  while (used < input.size() && !impl.chunks->done() && impl.chunks->problem() == nullptr) {
    const ChunkReader::Piece piece = impl.chunks->feed(input.substr(used));
    used += piece.consumed;
    const uint64_t left = limit - std::min(limit, impl.chunked_bytes);
    body.append(std::as_bytes(
        std::span(piece.content.substr(0, static_cast<size_t>(std::min<uint64_t>(left, piece.content.size()))))));
    impl.chunked_bytes += piece.content.size();
  }
  if (impl.chunks->problem() != nullptr)
    return impl.bad(400, std::string("malformed chunked body: ") + impl.chunks->problem());
  return {impl.chunks->done() ? Event::kMessage : Event::kNeedMore, used};
}

const Head& RequestParser::head() const { return impl_->head; }
uint64_t RequestParser::body_received() const { return impl_->chunked_bytes; }
const std::string& RequestParser::problem() const { return impl_->problem; }
int RequestParser::problem_status() const { return impl_->status; }

}  // namespace ridge::front::http
