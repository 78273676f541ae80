#include "front/grpc/server.h"

#include <absl/synchronization/mutex.h>

#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <string_view>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "front/grpc/completion_loop.h"
#include "front/grpc/own_listener.h"
#include "front/grpc/tls_credentials.h"

namespace ridge::front::grpc {
namespace {

constexpr size_t kMostConversions = 1024;  // that wait, as for HTTP
// Once gRPC's shut-down has begun, a call that still arrives ends with CANCELLED, which clients do not repeat elsewhere. So before it
// clients have this long to learn from an answer (UNAVAILABLE) that the server ends.
constexpr std::chrono::milliseconds kFarewell{250};
constexpr std::chrono::milliseconds kLook{10};  // between looks at whether calls are open
constexpr int kFrame = 1024 * 1024;             // [bytes]; with 16 KiB a 16 MB message takes a quarter more CPU

// gRPC's own lines into the log of the process. What it reports as an error is mostly a client's doing; handshakes that fail are logged
// once, because others may try as often as they like.
void write_log(gpr_log_func_args* line) {
  static std::atomic<bool> handshake_failed = false;
  const bool of_handshake = std::string_view(line->file).ends_with("ssl_transport_security.cc");
  if (line->severity == GPR_LOG_SEVERITY_ERROR && of_handshake && !handshake_failed.exchange(true))
    log::warning("grpc: {} Further ones are not logged", line->message);
  else if (line->severity == GPR_LOG_SEVERITY_ERROR && !of_handshake)
    log::warning("grpc: {}", line->message);
  else
    log::debug("grpc: {}", line->message);
}

int milliseconds_of(std::chrono::milliseconds duration) {
  return static_cast<int>(std::min<int64_t>(duration.count(), std::numeric_limits<int>::max()));
}

void configure(::grpc::ServerBuilder& builder, const ServerOptions& options) {
  builder.SetMaxReceiveMessageSize(options.largest_message);
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // else a second server would share the port silently
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);  // message_coding.h
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrame);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.most_calls);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, milliseconds_of(options.idle_timeout));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, milliseconds_of(options.handshake_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds_of(options.keepalive_time));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds_of(options.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);  // clients may ask for signs of life as they like
  if (options.connection_age.count() > 0)
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, milliseconds_of(options.connection_age));
  if (options.connection_age_grace.count() > 0)
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, milliseconds_of(options.connection_age_grace));
  if (options.transport_memory > 0)
    builder.SetResourceQuota(::grpc::ResourceQuota("ridge").Resize(options.transport_memory));
}

}  // namespace

struct Server::Impl {
  Impl(const ServerOptions& options, serve::Service& service, ControlThreads& control)
      : shared{.options = options,
               .service = service,
               .control = control,
               .bodies = BodyPool(options.memory),
               .convert{"convert", static_cast<size_t>(std::max(2, options.threads)), kMostConversions}} {}
  ~Impl();

  Status open();
  void begin_drain();
  void await_calls();
  void on_each(void (Loop::*work)());

  Shared shared;
  ::grpc::AsyncGenericService generic;
  std::shared_ptr<::grpc::ServerCredentials> credentials;  // outlives the server, whose connections ask it
  std::unique_ptr<::grpc::Server> server;
  std::vector<std::unique_ptr<Loop>> loops;
  std::unique_ptr<OwnListener> own;  // null: gRPC listens itself
  int port = 0;
  std::string name;
  Mutex mutex;
  ConditionVariable changed;
  bool cut RIDGE_GUARDED_BY(mutex) = false;  // calls are not waited for
  bool ended RIDGE_GUARDED_BY(mutex) = false;
  std::jthread stopper;  // waits for the calls in progress
};

void Server::Impl::on_each(void (Loop::*work)()) {
  for (const std::unique_ptr<Loop>& loop : loops) loop->mailbox()->put([loop = loop.get(), work] { (loop->*work)(); });
}

Status Server::Impl::open() {
  const ListenOptions& listen = shared.options.listen;
  const bool by_itself = !shared.options.passed && !is_unix_address(listen.address);
  if (by_itself) {
    RIDGE_ASSIGN(name, check_listening(listen.address, listen.port));
  }
  ::grpc::ServerBuilder builder;
  configure(builder, shared.options);
  credentials = shared.options.tls ? tls_credentials(shared.options.tls) : ::grpc::InsecureServerCredentials();
  if (by_itself) {
    builder.AddListeningPort(name, credentials, &port);
  } else {
    RIDGE_ASSIGN(Listener listener,
                 shared.options.passed ? listen_on_passed(std::move(*shared.options.passed)) : listen_on(listen));
    name = listener.name;
    port = listener.port;
    own = std::make_unique<OwnListener>(std::move(listener), builder, credentials);
  }
  builder.RegisterAsyncGenericService(&generic);
  for (int i = 0; i < std::max(1, shared.options.threads); ++i)
    loops.push_back(std::make_unique<Loop>(builder.AddCompletionQueue(), generic, shared));
  server = builder.BuildAndStart();
  if (!server || (by_itself && port == 0))
    return Error{Code::kFailed, "gRPC could not listen on " + name + "; the log says why"};
  if (by_itself) name = name.substr(0, name.rfind(':') + 1) + std::to_string(port);
  for (const std::unique_ptr<Loop>& loop : loops) loop->start();
  if (own) own->start();
  return {};
}

void Server::Impl::begin_drain() {
  if (stopper.joinable()) return;
  on_each(&Loop::begin_drain);
  stopper = std::jthread([this] {
    await_calls();
    own.reset();
    // None is open now; a silent connection is cut off at the end of this time.
    server->Shutdown(std::chrono::system_clock::now() + shared.options.drain_timeout);
    MutexLock lock(mutex);
    ended = true;
    changed.notify_all();
  });
}

void Server::Impl::await_calls() {
  Clock& clock = *shared.options.clock;
  const TimePoint farewell = clock.now() + kFarewell;
  auto is_open = [](const std::unique_ptr<Loop>& loop) { return loop->open_calls() > 0; };
  MutexLock lock(mutex);
  while (!cut && (clock.now() < farewell || std::any_of(loops.begin(), loops.end(), is_open)))
    clock.wait_until(changed, lock, clock.now() + kLook);
}

Server::Impl::~Impl() {
  if (!server) return;
  begin_drain();
  {
    MutexLock lock(mutex);
    cut = true;
  }
  on_each(&Loop::cut_off);
  stopper.join();
  on_each(&Loop::close);
  loops.clear();
}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, serve::Service& service,
                                              ControlThreads& control) {
  gpr_set_log_function(write_log);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // Debian's Abseil checks every lock, for debugging
  google::protobuf::SetLogHandler(nullptr);  // a client's text that is not UTF-8 is its error, not a line of ours
  auto impl = std::make_unique<Impl>(options, service, control);
  RIDGE_TRY(impl->open());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

uint16_t Server::port() const { return static_cast<uint16_t>(impl_->port); }
const std::string& Server::name() const { return impl_->name; }
bool Server::responds(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  std::vector<std::future<void>> turns;
  for (const std::unique_ptr<Loop>& loop : impl_->loops) {
    auto done = std::make_shared<std::promise<void>>();
    turns.push_back(done->get_future());
    loop->mailbox()->put([done] { done->set_value(); });
  }
  return std::all_of(turns.begin(), turns.end(),
                     [&](const std::future<void>& turn) { return turn.wait_until(end) == std::future_status::ready; });
}

void Server::begin_drain() { impl_->begin_drain(); }

bool Server::wait(std::chrono::milliseconds patience) {
  Clock& clock = *impl_->shared.options.clock;
  const TimePoint end = clock.now() + patience;
  MutexLock lock(impl_->mutex);
  while (!impl_->ended && clock.now() < end) clock.wait_until(impl_->changed, lock, end);
  return impl_->ended;
}

}  // namespace ridge::front::grpc
