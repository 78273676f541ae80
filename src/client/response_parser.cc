#include "client/response_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <charconv>
#include <cstdint>
#include <limits>

#include "base/chunk_reader.h"

namespace ridge::client {
namespace {

namespace beast = boost::beast;
using beast::string_view;
using beast::http::field;
using ErrorCode = beast::error_code;

constexpr uint32_t kHeaderLimit = 64 << 10;  // [bytes]

// Never builds a container of headers. Chunked bodies are ChunkReader's: Beast 1.74 ends the program at an empty one in
// two pieces (boostorg/beast#2861).
class Collector final : public beast::http::basic_parser<false> {
 public:
  Collector(Response& response, const BodyLimits& keep, AnswerReader* reader)
      : response_(response), keep_(keep), reader_(reader) {
    body_limit(std::numeric_limits<uint64_t>::max());  // boost::none, "no limit", refuses every body in Boost 1.74
    header_limit(kHeaderLimit);
    eager(false);
  }

  size_t take(string_view body) {
    const size_t kept = std::min(body.size(), left_);
    response_.body.append(body.data(), kept);
    left_ -= kept;
    response_.body_size += body.size();
    if (reader_ != nullptr && response_.status == 200) reader_->take({body.data(), body.size()});
    return body.size();
  }

 private:
  void on_request_impl(beast::http::verb, string_view, string_view, int, ErrorCode&) override {}
  void on_response_impl(int status, string_view, int, ErrorCode&) override {
    response_.status = status;
    left_ = status == 200 ? keep_.ok : keep_.other;
  }
  void on_field_impl(field name, string_view text, string_view value, ErrorCode&) override {
    if (name != field::unknown || !beast::iequals(text, "Inference-Header-Content-Length")) return;
    size_t size = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (error == std::errc() && end == value.data() + value.size()) response_.json_size = size;
  }
  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(string_view body, ErrorCode&) override { return take(body); }
  void on_chunk_header_impl(std::uint64_t, string_view, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, ErrorCode&) override { return body.size(); }
  void on_finish_impl(ErrorCode&) override {}

  Response& response_;
  const BodyLimits& keep_;
  AnswerReader* reader_;
  size_t left_ = 0;
};

bool is_interim(int status) { return status >= 100 && status < 200; }

}  // namespace

struct ResponseParser::Impl {
  BodyLimits keep;
  AnswerReader* reader = nullptr;
  Response response;
  std::optional<Collector> parser;
  std::optional<ChunkReader> chunks;  // of the body, if it has any

  void restart() {
    response.status = 0;
    response.json_size.reset();
    response.body_size = 0;
    response.body.clear();
    parser.emplace(response, keep, reader);
    chunks.reset();
  }

  Event take_chunks(std::string_view input, size_t& consumed) {
    while (consumed < input.size() && !chunks->done() && chunks->problem() == nullptr) {
      const ChunkReader::Piece piece = chunks->feed(input.substr(consumed));
      consumed += piece.consumed;
      parser->take({piece.content.data(), piece.content.size()});
    }
    if (chunks->problem() != nullptr) return Event::kBad;
    return chunks->done() ? Event::kDone : Event::kNeedMore;
  }
};

ResponseParser::ResponseParser(const BodyLimits& keep, AnswerReader* reader) : impl_(std::make_unique<Impl>()) {
  impl_->reader = reader;
  impl_->keep = keep;
  reset();
}

ResponseParser::~ResponseParser() = default;

void ResponseParser::reset() { impl_->restart(); }

ResponseParser::Step ResponseParser::feed(std::string_view input) {
  Impl& impl = *impl_;
  size_t consumed = 0;
  while (consumed < input.size() && !impl.chunks) {
    ErrorCode ec;
    const size_t used =
        impl.parser->put(boost::asio::const_buffer(input.data() + consumed, input.size() - consumed), ec);
    consumed += used;
    if (ec && ec != beast::http::error::need_more) return {Event::kBad, consumed};
    if (impl.parser->is_header_done()) impl.response.keep_alive = impl.parser->keep_alive();
    if (impl.parser->is_done()) {
      if (!is_interim(impl.response.status)) return {Event::kDone, consumed};
      impl.restart();
      continue;
    }
    if (impl.parser->is_header_done()) {
      if (impl.parser->chunked()) impl.chunks.emplace(kHeaderLimit);
      impl.parser->eager(true);
    }
    if (ec || used == 0) break;
  }
  if (impl.chunks) {
    const Event event = impl.take_chunks(input, consumed);
    return {event, consumed};
  }
  if (input.size() - consumed > kHeaderLimit) return {Event::kBad, consumed};
  return {Event::kNeedMore, consumed};
}

ResponseParser::Event ResponseParser::end() {
  if (!impl_->parser->got_some()) return Event::kBad;
  ErrorCode ec;
  impl_->parser->put_eof(ec);
  impl_->response.keep_alive = false;
  return !ec && impl_->parser->is_done() ? Event::kDone : Event::kBad;
}

Response& ResponseParser::response() { return impl_->response; }
const Response& ResponseParser::response() const { return impl_->response; }

}  // namespace ridge::client
