// A language-model server whose times are known: answers /v1/completions of OpenAI's API by a script, so that what a
// load generator says can be held against the truth.
//
//   llm_script TTFT_MS TTFT_STEP_MS GAP_MS LONG_GAP_MS [PORT]          without a port: any free one
//
// Request n of more than one token gets its first token TTFT_MS + TTFT_STEP_MS · (n mod 101) after it was read; token k
// comes GAP_MS after the one before it, LONG_GAP_MS where k is a multiple of 5. Due times are absolute: a token that is
// late delays no later one. One thread. Prints the port; runs until it is killed, then prints by how much its tokens
// were late.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

struct Script {
  double ttft_ms = 0, ttft_step_ms = 0, gap_ms = 0, long_gap_ms = 0;
  long requests = 0;
  std::vector<float> late_ms;  // of each token
};

std::string chunk(const std::string& text) { return fmt::format("{:x}\r\n{}\r\n", text.size(), text); }

long number_behind(const std::string& text, const char* name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? 0
                                 : std::strtol(text.c_str() + at + std::char_traits<char>::length(name), nullptr, 10);
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Script& script)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), script_(script) {
    socket_.set_option(tcp::no_delay(true));
  }

  void read() {
    asio::async_read_until(socket_, asio::dynamic_buffer(input_), "\r\n\r\n",
                           [self = shared_from_this()](boost::system::error_code error, size_t head) {
                             if (!error) self->read_body(head);
                           });
  }

 private:
  void read_body(size_t head) {
    const size_t size = head + static_cast<size_t>(number_behind(input_.substr(0, head), "Content-Length: "));
    const size_t missing = size - std::min(size, input_.size());
    asio::async_read(socket_, asio::dynamic_buffer(input_), asio::transfer_exactly(missing),
                     [self = shared_from_this(), size](boost::system::error_code error, size_t) {
                       if (!error) self->answer(size);
                     });
  }

  void answer(size_t size) {
    const std::string request = input_.substr(0, size);
    input_.erase(0, size);
    if (request.starts_with("GET")) {
      const std::string body = R"({"object":"list","data":[{"id":"script","object":"model","owned_by":"llm_script"}]})";
      send(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
      return read();
    }
    tokens_ = number_behind(request, "\"max_tokens\":");
    sent_ = 0;
    const long number = tokens_ > 1 ? script_.requests++ : 0;
    due_ = Clock::now() + after(script_.ttft_ms + script_.ttft_step_ms * static_cast<double>(number % 101));
    send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    wait();
  }

  static Clock::duration after(double ms) { return std::chrono::duration_cast<Clock::duration>(Milliseconds(ms)); }

  void wait() {
    timer_.expires_at(due_);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (!error) self->send_token();
    });
  }

  void send_token() {
    script_.late_ms.push_back(static_cast<float>(Milliseconds(Clock::now() - due_).count()));
    std::string text = chunk("data: {\"choices\":[{\"index\":0,\"text\":\" the\",\"finish_reason\":null}]}\n\n");
    if (++sent_ < tokens_) {
      due_ += after(sent_ % 5 == 0 ? script_.long_gap_ms : script_.gap_ms);
      send(text);
      return wait();
    }
    text += chunk(fmt::format("data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":{}}}}}\n\n",
                              tokens_));
    send(text + chunk("data: [DONE]\n\n") + "0\r\n\r\n");
    read();
  }

  void send(const std::string& text) {
    boost::system::error_code ignored;  // a client that has gone is seen by the next read
    asio::write(socket_, asio::buffer(text), ignored);
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  Script& script_;
  std::string input_;
  long tokens_ = 0, sent_ = 0;
  Clock::time_point due_;
};

void accept(tcp::acceptor& acceptor, Script& script) {
  acceptor.async_accept([&](boost::system::error_code error, tcp::socket socket) {
    if (!error) std::make_shared<Session>(std::move(socket), script)->read();
    if (error != asio::error::operation_aborted) accept(acceptor, script);
  });
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) return std::fputs("usage: llm_script TTFT_MS TTFT_STEP_MS GAP_MS LONG_GAP_MS [PORT]\n", stderr), 2;
  const auto number = [&](int i) { return std::strtod(arguments[i], nullptr); };
  Script script{number(1), number(2), number(3), number(4), 0, {}};
  asio::io_context context(1);
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), static_cast<uint16_t>(count > 5 ? number(5) : 0)});
  acceptor.listen(4096);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code, int) { context.stop(); });
  accept(acceptor, script);
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  context.run();
  std::sort(script.late_ms.begin(), script.late_ms.end());
  const auto late = [&](double share) {
    return script.late_ms.empty()
               ? 0.0
               : static_cast<double>(
                     script.late_ms[static_cast<size_t>(share * static_cast<double>(script.late_ms.size() - 1))]);
  };
  std::printf("%zu tokens, late by p50 %.3f ms, p99 %.3f ms, at most %.3f ms\n", script.late_ms.size(), late(0.5),
              late(0.99), late(1));
  return 0;
}
