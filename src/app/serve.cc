#include "app/serve.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "front/http/api.h"
#include "front/http/server.h"
#include "front/model_metrics.h"
#include "machine/probe.h"
#include "telemetry/gpus.h"
#include "telemetry/host.h"

namespace ridge::app {
namespace {

namespace http = front::http;

constexpr std::chrono::hours kLongestDrain{24 * 365};
constexpr std::chrono::seconds kToClose{1};  // sockets and threads, when nothing has to be waited for
constexpr std::chrono::milliseconds kSignalWait{20};

// Cores that this process may keep busy: affinity and container quota count, not what the machine has.
int usable_cores() {
  Result<machine::Machine> machine = machine::probe();
  if (machine) return machine::usable_threads(*machine);
  log::warning("the cores of this machine are not known ({}); models get the engine's default of threads",
               machine.error().message);
  return 0;
}

// One thread moves about 100,000 small requests a second; the rest of the machine belongs to the models.
int http_threads(const ServeRequest& request) {
  return request.http_threads > 0 ? request.http_threads : std::clamp(request.server.cores / 4, 1, 8);
}

Result<std::shared_ptr<serve::Recorder>> start_recorder(const std::optional<serve::RecordOptions>& record) {
  if (!record) return std::shared_ptr<serve::Recorder>();
  log::info("the inputs of the first {} requests are recorded in {}", record->most, record->folder);
  RIDGE_ASSIGN(std::unique_ptr<serve::Recorder> recorder, serve::Recorder::start(*record));
  return std::shared_ptr<serve::Recorder>(std::move(recorder));
}

// Models that should be served and could not be loaded, each with its reason: "a (…), b (…)".
std::string failed_models(const serve::Server& server) {
  std::string text;
  for (const serve::IndexEntry& entry : server.index(false))
    if (entry.state == serve::ModelState::kUnavailable && !entry.reason.empty() && entry.reason != "unloaded")
      text += (text.empty() ? "'" : ", '") + entry.name + "' (" + entry.reason + ")";
  return text;
}

// The models that the repository holds, for the log.
std::string model_names(const serve::Server& server) {
  constexpr size_t kMost = 20;
  std::vector<std::string> names;
  for (const serve::IndexEntry& entry : server.index(false))
    if (names.empty() || names.back() != entry.name) names.push_back(entry.name);
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMost) text += ", … (" + std::to_string(names.size()) + " in all)";
  return text.empty() ? "none" : text;
}

// The next signal, or 0 when `until` has become true or the deadline has passed.
int wait_for_signal(const ServeControl& control, const std::atomic<bool>& until,
                    TimePoint deadline = TimePoint::max()) {
  while (!until && control.clock->now() < deadline)
    if (const int signal = control.next_signal(kSignalWait); signal > 0) return signal;
  return 0;
}

}  // namespace

struct ServeRun::Impl {
  explicit Impl(ServeRequest request) : request(std::move(request)) {}
  Status open_ports();
  Status write_port_file() const;
  void load();
  void shut_down();
  ServeEnd wait_for_end(const ServeControl& control) const;

  ServeRequest request;
  telemetry::HostSampler host;
  std::optional<telemetry::GpuSampler> gpus;
  std::unique_ptr<serve::Server> server;
  std::unique_ptr<http::Server> http, metrics;  // destroying one closes its port
  std::string not_loaded;                       // written before failed
  std::atomic<bool> failed = false;             // a model could not be loaded, and that is to end the server
  std::atomic<bool> answered = false;           // every request that was accepted
  std::atomic<bool> ended = false;              // and every thread
  std::jthread loading, stopper;                // last: they use the rest
};

Status ServeRun::Impl::open_ports() {
  auto metrics_text = [this] {
    Result<std::vector<serve::ModelStatistics>> statistics = server->statistics("", 0);
    return front::metrics_text(statistics ? *statistics : std::vector<serve::ModelStatistics>{}, host.sample(),
                               gpus ? gpus->last() : std::vector<telemetry::GpuSample>{});
  };
  if (request.allow_http) {
    const int threads = http_threads(request);
    http::ApiOptions api{.server_version = RIDGE_VERSION,
                         .max_input_bytes = request.max_input_bytes,
                         .io_threads = static_cast<size_t>(threads),
                         .conversion_threads = static_cast<size_t>(std::max(2, threads)),
                         .shared_memory = request.shared_memory};
    http::ServerOptions listen{.address = request.http_address,
                               .port = request.http_port,
                               .threads = threads,
                               .head_timeout = request.http_timeout,
                               .stall_timeout = request.http_timeout};
    RIDGE_ASSIGN(http, http::Server::start(listen, std::make_shared<http::Api>(*server, api, metrics_text)));
    log::info("http: listening on {}:{}", request.http_address, http->port());
  }
  const bool own_port = request.metrics_port == 0 || request.metrics_port != request.http_port || !request.allow_http;
  if (request.allow_metrics && own_port) {
    const std::string& address = request.metrics_address.empty() ? request.http_address : request.metrics_address;
    http::ServerOptions listen{.address = address, .port = request.metrics_port};
    RIDGE_ASSIGN(metrics, http::Server::start(listen, std::make_shared<http::MetricsApi>(metrics_text)));
    log::info("metrics: http://{}:{}/metrics", address, metrics->port());
  }
  return {};
}

Status ServeRun::Impl::write_port_file() const {
  if (request.port_file.empty()) return {};
  Json ports = Json::object();
  if (http) ports["http"] = http->port();
  if (metrics) ports["metrics"] = metrics->port();
  return write_file_atomically(request.port_file, dump_json(ports) + "\n");
}

void ServeRun::Impl::load() {
  server->load_all();
  if (server->draining()) return;
  not_loaded = failed_models(*server);
  if (not_loaded.empty()) return log::info("all models are loaded");
  if (!request.exit_on_error) return log::error("not all models could be loaded: {}", not_loaded);
  failed = true;
}

// Answers what is in progress, refuses the rest, ends everything but the caller's own thread.
void ServeRun::Impl::shut_down() {
  server->begin_drain();
  if (http) http->drain(kLongestDrain);  // wait_for_end() looks at the clock
  answered = true;
  if (metrics) metrics->drain(std::chrono::seconds(1));
  http.reset();  // ends repository calls whose clients have gone
  metrics.reset();
  loading.join();
  server->drain();
  ended = true;
}

// Of shut_down(), or of the time for it.
ServeEnd ServeRun::Impl::wait_for_end(const ServeControl& control) const {
  const auto patience = std::min<std::chrono::seconds>(kLongestDrain, request.exit_timeout);
  if (wait_for_signal(control, ended, control.clock->now() + patience + kToClose) != 0) return ServeEnd::kSignalled;
  if (ended) return failed ? ServeEnd::kNotLoaded : ServeEnd::kDone;
  if (!answered) {
    log::error("some requests were not answered within --exit-timeout-secs");
    return ServeEnd::kUnanswered;
  }
  log::warning("a model was still being loaded or run at the end of --exit-timeout-secs; it is cut off");
  return ServeEnd::kCutOff;
}

ServeRun::ServeRun(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServeRun::~ServeRun() = default;

serve::Server& ServeRun::server() { return *impl_->server; }
uint16_t ServeRun::http_port() const { return impl_->http ? impl_->http->port() : 0; }
uint16_t ServeRun::metrics_port() const { return impl_->metrics ? impl_->metrics->port() : 0; }

Result<std::unique_ptr<ServeRun>> ServeRun::open(ServeRequest request) {
  request.server.cores = usable_cores();
  RIDGE_ASSIGN(request.server.recorder, start_recorder(request.record));
  auto impl = std::make_unique<Impl>(std::move(request));
  if (impl->request.allow_metrics || impl->request.allow_http) impl->gpus.emplace();
  RIDGE_ASSIGN(impl->server, serve::Server::create(std::move(impl->request.server)));
  RIDGE_TRY(impl->open_ports());
  RIDGE_TRY(impl->write_port_file());
  log::info("models in the repository: {}", model_names(*impl->server));
  return std::unique_ptr<ServeRun>(new ServeRun(std::move(impl)));
}

ServeEnd ServeRun::run(const ServeControl& control) {
  impl_->loading = std::jthread([this] { impl_->load(); });
  if (const int signal = wait_for_signal(control, impl_->failed); signal != 0)
    log::info("{}: finishing the requests in progress; a second signal exits at once", strsignal(signal));
  else
    control.not_loaded(impl_->not_loaded);
  impl_->stopper = std::jthread([this] { impl_->shut_down(); });
  return impl_->wait_for_end(control);
}

}  // namespace ridge::app
