#include "front/http/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "front/http/io_thread.h"

namespace ridge::front::http {
namespace {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;
using Socket = Protocol::socket;
using Acceptor = asio::basic_socket_acceptor<Protocol>;
using SystemError = boost::system::error_code;

// A thousand idle clients need a thousand descriptors; the usual soft limit is 1024, the hard one far above.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

// The first thread accepts and distributes new connections round-robin: with few connections (a handful of persistent
// clients) the kernel's sharding by hash would leave threads idle.
struct Server::Impl {
  ServerOptions options;
  std::shared_ptr<Port> behind;
  std::optional<ConnectionCount> count;
  Warnings warnings;
  std::vector<std::unique_ptr<IoThread>> threads;
  std::unique_ptr<Acceptor> acceptor;
  Listener listener;
  size_t next = 0;
  std::weak_ptr<const void> accepting;  // while the acceptor has what it is to do
  bool warned = false, warned_of_many = false, draining = false;

  ~Impl() {
    on_first([this] { stop_accepting(); });
    threads.clear();
  }

  // Runs `work` on that thread and waits for it.
  template <typename Work>
  static void on(IoThread& thread, Work work) {
    std::promise<void> done;
    asio::post(thread.context(), [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // On the accepting thread.
  template <typename Work>
  void on_first(Work work) {
    if (!threads.empty()) on(*threads[0], work);
  }
  template <typename Work>
  void on_each(Work work) {
    for (const std::unique_ptr<IoThread>& thread : threads) on(*thread, [&] { work(*thread); });
  }

  void stop_accepting() {
    acceptor.reset();
    listener.file = {};
  }

  // Goes on by itself; the thread's ticks begin it again when descriptors or memory were lacking.
  void accept() {
    if (!accepting.expired() || acceptor == nullptr) return;
    IoThread& target = *threads[next];
    // Asio lets go of it without a call where it lacks memory.
    auto held = std::make_shared<const bool>();
    accepting = held;
    acceptor->async_accept(target.context(), [this, &target, held](const SystemError& ec, Socket socket) mutable {
      held = nullptr;
      if (acceptor == nullptr || ec == asio::error::operation_aborted) return;
      if (ec) return warn_of(ec);
      const asio::ip::address address = address_of(socket);
      if (const char* limit = count->take(address))
        refuse(std::move(socket), limit);
      else
        hand_over(target, std::move(socket), address);
      accept();
    });
  }

  void hand_over(IoThread& target, Socket socket, const asio::ip::address& address) {
    next = (next + 1) % threads.size();
    try {
      asio::post(target.context(), [&target, address, socket = std::move(socket)]() mutable {
        target.adopt(std::move(socket), address);
        target.run_completions();
      });
    } catch (const std::bad_alloc&) {
      count->give_back(address);
    }
  }

  // Says why, instead of letting it wait for an answer; its request is not read.
  void refuse(Socket socket, const char* limit) {
    if (!std::exchange(warned_of_many, true))
      log::warning("{}: as many connections are open as {} allows; more are refused", warnings.server, limit);
    if (options.tls) return;  // a handshake is work for a connection that counts
    const std::string answer = behind->no_room();
    SystemError ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(answer), ignored);
    socket.shutdown(Socket::shutdown_send, ignored);
    std::array<char, 4096> unread;  // closing with unread data would take the answer back
    socket.read_some(asio::buffer(unread), ignored);
  }

  void warn_of(const SystemError& ec) {
    if (!std::exchange(warned, true))
      log::warning("{}: cannot accept connections: {}; raise the limit of open files (ulimit -n)", warnings.server,
                   ec.message());
  }
};

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, std::shared_ptr<Port> port) {
  raise_descriptor_limit();
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  RIDGE_ASSIGN(impl->listener, impl->options.passed ? listen_on_passed(std::move(*impl->options.passed))
                                                    : listen_on(impl->options.listen));
  impl->warnings.server = impl->options.name + " " + impl->listener.name;
  impl->behind = std::move(port);
  impl->count.emplace(impl->options.max_connections, impl->options.max_connections_per_address);
  size_t count = static_cast<size_t>(std::max(1, impl->options.threads));
  for (size_t i = 0; i < count; ++i)
    impl->threads.push_back(std::make_unique<IoThread>(impl->options, *impl->behind, *impl->count, impl->warnings, i));
  impl->on_first([&] {
    const int family = impl->listener.family;
    impl->acceptor =
        std::make_unique<Acceptor>(impl->threads[0]->context(), Protocol(family, 0), impl->listener.socket.release());
    impl->accept();
    impl->threads[0]->on_tick([&accepting = *impl] { accepting.accept(); });
  });
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

uint16_t Server::port() const { return impl_->listener.port; }
const std::string& Server::name() const { return impl_->listener.name; }

bool Server::responds(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  std::vector<std::future<void>> turns;
  for (const std::unique_ptr<IoThread>& thread : impl_->threads) {
    auto done = std::make_shared<std::promise<void>>();
    turns.push_back(done->get_future());
    asio::post(thread->context(), [done] { done->set_value(); });
  }
  return std::all_of(turns.begin(), turns.end(),
                     [&](const std::future<void>& turn) { return turn.wait_until(end) == std::future_status::ready; });
}

void Server::retire() {
  impl_->on_each([](IoThread& thread) { thread.retire(); });
}

void Server::begin_drain() {
  if (std::exchange(impl_->draining, true)) return;
  impl_->on_first([this] { impl_->stop_accepting(); });
  impl_->on_each([](IoThread& thread) { thread.begin_drain(); });
}

bool Server::drain(std::chrono::milliseconds patience) {
  begin_drain();
  return impl_->count->wait_for_none(*impl_->options.clock, patience);
}

}  // namespace ridge::front::http
