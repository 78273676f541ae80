#include "app/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "app/next_steps.h"
#include "app/serve_machine.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/units.h"
#include "checkpoint/weights.h"
#include "engine/own_format.h"
#include "front/http/api.h"
#include "front/http/server.h"
#include "front/model_metrics.h"
#include "front/text_metrics.h"
#include "model/reader.h"
#include "serve/text_model.h"
#include "telemetry/gpus.h"

namespace ridge::app {
namespace {

namespace http = front::http;

constexpr std::chrono::hours kLongestDrain{24 * 365};
constexpr std::chrono::seconds kToClose{1};  // sockets and threads, when there is nothing to wait for
constexpr std::chrono::milliseconds kSignalWait{20};
constexpr std::chrono::seconds kReloadPeriod{1};  // between looks at the files of TLS and keys

// One thread moves about 100,000 small requests a second; the rest of the machine belongs to the models. Of HTTP two at
// least, as one may be running a model; gRPC's workers send its answers.
constexpr int kLeastHttpThreads = 2, kLeastGrpcThreads = 1;
int io_threads(int requested, int least, const ServeRequest& request) {
  return requested > 0 ? requested : std::clamp(request.server.cores / 4, least, 8);
}

Result<std::shared_ptr<serve::Recorder>> start_recorder(const std::optional<serve::RecordOptions>& record) {
  if (!record) return std::shared_ptr<serve::Recorder>();
  log::info("the inputs of the first {} requests are recorded in {}", record->most, record->folder);
  RIDGE_ASSIGN(std::unique_ptr<serve::Recorder> recorder, serve::Recorder::start(*record));
  return std::shared_ptr<serve::Recorder>(std::move(recorder));
}

// A text that takes a while to write: those who asked before it was begun share it, however many they are.
class LatestText {
 public:
  std::string as_of(TimePoint asked, const std::function<std::string()>& render) {
    MutexLock lock(mutex_);
    if (!begun_ || *begun_ < asked) {
      begun_ = system_clock().now();
      text_ = render();
    }
    return text_;
  }

 private:
  Mutex mutex_;
  std::optional<TimePoint> begun_ RIDGE_GUARDED_BY(mutex_);
  std::string text_ RIDGE_GUARDED_BY(mutex_);
};

// Requested models that could not be loaded.
std::vector<serve::IndexEntry> failed_models(const serve::Server& server) {
  std::set<std::string> names;
  for (const auto& [name, times] : server.failed_loads())
    if (times > 0) names.insert(name);
  std::vector<serve::IndexEntry> failed = server.index(false);
  std::erase_if(failed, [&](const serve::IndexEntry& entry) {
    return entry.state != serve::ModelState::kUnavailable || !names.contains(entry.name);
  });
  return failed;
}

// The models in the repository before any is loaded, for the log.
std::string model_names(const serve::Server& server) {
  constexpr size_t kMost = 20;
  std::vector<std::string> names;
  for (const serve::IndexEntry& entry : server.index(false))
    if (entry.reason.empty()) names.push_back(entry.name);  // else it is passed over
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMost) text += ", … (" + std::to_string(names.size()) + " in all)";
  return text.empty() ? "none" : text;
}

// A file that is no .onnx or .gguf file, nor of an engine's own format: what it is instead.
Status check_files(const std::vector<std::string>& repositories) {
  for (const std::string& path : repositories) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error) || path.ends_with(".onnx") || checkpoint::is_gguf(path) ||
        engine::owner_of(path) != nullptr)
      continue;
    RIDGE_TRY(model::UnboundModel::read(path));
    return Error{Code::kInvalid, path + " is a model, but its name does not end in .onnx; rename it"};
  }
  return {};
}

// Options that curl needs besides the URL. A key stays a shell variable, so that the log does not show it.
std::string client_options(const ServeRequest& request, const std::string& listens_on) {
  std::string options;
  if (front::is_unix_address(listens_on))
    options += "--unix-socket " + shell_word(listens_on.substr(listens_on.find(':') + 1)) + " ";
  if (request.tls) options += "--cacert " + shell_word(request.tls->certificate) + " ";
  if (request.tls && !request.tls->client_ca.empty()) options += "--cert CLIENT.pem --key CLIENT.key ";
  if (!request.keys_file.empty()) options += "-H \"Authorization: Bearer $KEY\" ";
  return options + (request.tls ? "https://" : "");
}

bool is_of_this_machine(const std::string& address) {
  return front::is_unix_address(address) || address == "localhost" || address == "::1" || address.starts_with("127.");
}

// The next signal, or 0 when `until` has become true or the deadline has passed.
int wait_for_signal(const ServeControl& control, const std::atomic<bool>& until,
                    TimePoint deadline = TimePoint::max()) {
  while (!until && control.clock->now() < deadline)
    if (const int signal = control.next_signal(kSignalWait); signal > 0) return signal;
  return 0;
}

}  // namespace

std::chrono::milliseconds drain_time(const ServeRequest& request, int signal) {
  if (request.drain_time) return *request.drain_time;
  const bool local = (!request.allow_http || is_of_this_machine(request.http_address)) &&
                     (!request.allow_grpc || is_of_this_machine(request.grpc_address));
  return std::chrono::seconds(signal == SIGTERM && !local ? 5 : 0);
}

// Certificates and keys, before anything waits for the models.
Status ServeRun::open_files() {
  if (request_.tls) {
    RIDGE_ASSIGN(tls_, front::open_tls(*request_.tls));
  }
  if (!request_.keys_file.empty()) {
    RIDGE_ASSIGN(keys_, front::open_keys(request_.keys_file));
    if (!tls_) log::warning("keys travel unencrypted: without --tls-cert whoever sees the network's traffic has them");
  }
  if (!request_.access_log.empty()) {
    RIDGE_ASSIGN(access_log_, front::AccessLog::open(request_.access_log));
  }
  if (request_.trace) {
    const front::TraceOptions& options = request_.trace->options;
    tracer_ = std::make_shared<front::Tracer>(
        options, [target = request_.trace->target](const std::string& body) { return send_traces(target, body); });
    log::info("traces: to {}, level {}, one request in {}", options.url, options.on ? "TIMESTAMPS" : "OFF",
              options.rate);
  }
  if (!tls_ && !keys_) return {};
  reloading_ = std::jthread([this](const std::stop_token& stop) {
    Clock& clock = system_clock();
    while (clock.sleep_until(clock.now() + kReloadPeriod, stop)) {
      if (tls_) tls_->look();
      if (keys_) keys_->look();
    }
  });
  return {};
}

// Otherwise clients connect to a socket that is never accepted, and hang.
Status ServeRun::check_passed() const {
  if (!request_.service_manager) return {};
  const std::pair<const char*, bool> ports[] = {
      {"http", request_.allow_http}, {"grpc", request_.allow_grpc}, {"metrics", request_.allow_metrics}};
  for (const auto& [name, open] : ports)
    if (!open && request_.service_manager->has_socket(name))
      return invalid(
          fmt::format("the service manager passed a socket with the name '{0}', but --allow-{0}=false; leave "
                      "that option out, or take the socket out of its unit",
                      name));
  return {};
}

Status ServeRun::open_ports() {
  auto render = [this] {
    Result<std::vector<serve::ModelStatistics>> statistics = server_->statistics("", 0);
    return front::metrics_text(
        statistics ? *statistics : std::vector<serve::ModelStatistics>{}, host_.sample(),
        {.gpus = gpus_ ? gpus_->last() : std::vector<telemetry::GpuSample>{},
         .failed_loads = server_->failed_loads(),
         .given_up = server_->given_up(),
         .spans = tracer_ ? std::optional(tracer_->counts()) : std::nullopt,
         .shadows = server_->shadows(),
         .texts = front::text_figures(*server_),
         .keys = keys_ ? keys_->current()->use().counts() : decltype(front::ServerFigures::keys){}});
  };
  auto metrics_text = [texts = std::make_shared<LatestText>(), render](TimePoint asked) {
    return texts->as_of(asked, render);
  };
  const uint64_t most = request_.max_body_memory > 0 ? request_.max_body_memory : uint64_t{1} << 62;
  const auto memory = std::make_shared<front::MemoryBudget>(most);
  if (request_.allow_http) {
    const int threads = io_threads(request_.http_threads, kLeastHttpThreads, request_);
    http::ApiOptions api{.server_version = RIDGE_VERSION,
                         .max_input_bytes = request_.max_input_bytes,
                         .io_threads = static_cast<size_t>(threads),
                         .conversion_threads = static_cast<size_t>(std::max(2, threads)),
                         .shared_memory = request_.shared_memory,
                         .model_control = request_.model_control,
                         .keys = keys_,
                         .access_log = access_log_,
                         .tracer = tracer_,
                         .memory = memory};
    http::ServerOptions listen = listen_options("http", request_.http_address, request_.http_port);
    listen.threads = threads;
    listen.memory = memory;
    RIDGE_ASSIGN(http_, http::Server::start(
                            listen, std::make_shared<http::Api>(*server_, api, *control_threads_, metrics_text)));
    log::info("http: listening on {}{}", http_->name(), tls_ ? ", TLS" : "");
    if (!keys_ && !(request_.tls && !request_.tls->client_ca.empty()) && !is_of_this_machine(request_.http_address))
      log::info(
          "no key is asked for: whoever reaches this port may use the models (--keys, or --http-address 127.0.0.1)");
    example_host_ = http_->port() == 0 ? "localhost" : fmt::format("localhost:{}", http_->port());
    example_options_ = client_options(request_, http_->name());
  }
  if (request_.allow_grpc) RIDGE_TRY(open_grpc(memory));
  if (has_metrics_port()) {
    const std::string& address = request_.metrics_address.empty() ? request_.http_address : request_.metrics_address;
    RIDGE_ASSIGN(metrics_, http::Server::start(listen_options("metrics", address, request_.metrics_port),
                                               std::make_shared<http::MetricsApi>(metrics_text, keys_, access_log_)));
    const bool is_path = metrics_->port() == 0;
    log::info("metrics: {}",
              is_path ? metrics_->name() : fmt::format("{}://{}/metrics", tls_ ? "https" : "http", metrics_->name()));
  }
  return {};
}

bool ServeRun::has_metrics_port() const {
  if (!request_.allow_metrics) return false;
  if (request_.service_manager && request_.service_manager->has_socket("metrics")) return true;
  if (!request_.allow_http) return true;
  if (request_.metrics_address.empty()) {
    if (front::is_unix_address(request_.http_address)) return false;
    return request_.metrics_port == 0 || request_.metrics_port != request_.http_port;
  }
  return front::is_unix_address(request_.metrics_address) || front::is_unix_address(request_.http_address) ||
         request_.metrics_port == 0 || request_.metrics_port != request_.http_port;
}

// The socket that the service manager passed for a port; null: none.
std::shared_ptr<Descriptor> ServeRun::passed(const char* name) const {
  return request_.service_manager ? request_.service_manager->take_socket(name) : nullptr;
}

void ServeRun::tell_service_manager(const std::string& message) const {
  if (request_.service_manager) request_.service_manager->notify(message);
}

// Tells it twice a period that the server is alive; if it looks, only when all threads of the ports are.
void ServeRun::start_watchdog(bool looks) {
  if (!request_.service_manager || !request_.service_manager->watchdog()) return;
  const Nanoseconds step = *request_.service_manager->watchdog() / 2;
  watchdog_ = std::jthread([this, looks, step](const std::stop_token& stop) {
    const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(step);
    auto alive = [&](auto& port) { return !port || port->responds(patience); };
    Clock& clock = system_clock();
    do {
      if (!looks || (alive(http_) && alive(metrics_) && alive(grpc_))) tell_service_manager("WATCHDOG=1");
    } while (clock.sleep_until(clock.now() + step, stop));
  });
}

front::http::ServerOptions ServeRun::listen_options(const char* name, const std::string& address, uint16_t port) const {
  return {.name = name,
          .listen = {address, port, request_.unix_mode},
          .passed = passed(name),
          .max_connections = request_.http_max_connections,
          .max_connections_per_address = request_.http_max_connections_per_address,
          .tls = tls_,
          .idle_timeout = request_.idle_timeout,
          .head_timeout = request_.http_timeout,
          .stall_timeout = request_.http_timeout};
}

Status ServeRun::open_grpc(std::shared_ptr<front::MemoryBudget> memory) {
  front::http::ServerOptions listen = listen_options("grpc", request_.grpc_address, request_.grpc_port);
  listen.threads = io_threads(request_.grpc_threads, kLeastGrpcThreads, request_);
  listen.memory = memory;
  front::grpc::ApiOptions options = request_.grpc;
  options.io_threads = static_cast<size_t>(listen.threads);
  options.server_version = RIDGE_VERSION;
  options.largest_unpacked = request_.max_input_bytes;
  options.memory = std::move(memory);
  options.keys = keys_;
  options.access_log = access_log_;
  options.tracer = tracer_;
  options.shared_memory = request_.shared_memory;
  options.model_control = request_.model_control;
  RIDGE_ASSIGN(grpc_, front::http::Server::start(
                          listen, std::make_shared<front::grpc::Api>(*server_, std::move(options), *control_threads_)));
  log::info("grpc: listening on {}{}", grpc_->name(), tls_ ? ", TLS" : "");
  return {};
}

Status ServeRun::write_port_file() const {
  if (request_.port_file.empty()) return {};
  Json ports = Json::object();
  auto shown = [](const auto& server) { return server->port() == 0 ? Json(server->name()) : Json(server->port()); };
  if (http_) ports["http"] = shown(http_);
  if (grpc_) ports["grpc"] = shown(grpc_);
  if (metrics_) ports["metrics"] = shown(metrics_);
  return write_file_atomically(request_.port_file, dump_json(ports) + "\n");
}

void ServeRun::load() {
  server_->load_all();
  if (server_->draining()) return;
  const std::vector<serve::IndexEntry> failed = failed_models(*server_);
  if (failed.empty()) return log_loaded();
  std::string names;
  for (const serve::IndexEntry& entry : failed) {
    names += (names.empty() ? "'" : ", '") + entry.name + "'";
    not_loaded_ += (not_loaded_.empty() ? "'" : ", '") + entry.name + "' (" + entry.reason + ")";
  }
  if (request_.exit_on_error) {
    failed_ = true;
    return;
  }
  const size_t ready = server_->index(true).size();
  log::error("not all models could be loaded: {}, for the reasons above; ready: {}", names,
             counted(static_cast<int64_t>(ready), "model"));
  if (ready == 0) log::info("try: ridge doctor --verbose");
}

void ServeRun::log_loaded() const {
  const std::vector<serve::IndexEntry> ready = server_->index(true);
  if (ready.empty()) {
    log::info("no model is loaded yet");
    std::error_code error;
    const serve::ServerOptions& options = request_.server;
    if (options.control != serve::ControlMode::kExplicit && !options.repositories.empty() &&
        std::filesystem::is_directory(options.repositories.front(), error))
      log::info("try: ridge tune resnet50 -o {}", shell_word(options.repositories.front()));
    return;
  }
  log::info("all models are loaded");
  if (!request_.server.bound)
    log::info("shares of the physical limit are not shown: this machine was not measured (ridge bench device)");
  const std::string& first = ready.front().name;
  const Result<serve::ModelMetadata> metadata = server_->metadata(first, 0);
  if (!metadata || example_host_.empty()) return;
  const Result<serve::TextModelPtr> text = server_->text_model(first);
  log::info("try: {}",
            text ? text_line(example_host_, first, example_options_, (*text)->chats())
                 : request_line(example_host_, first, metadata->inputs, example_options_, metadata->sequences));
}

// Answers requests in progress, refuses the rest, ends all threads but the caller's.
void ServeRun::shut_down() {
  tell_service_manager("STOPPING=1\nSTATUS=answering the requests in progress");
  start_watchdog(false);
  if (drain_time_.count() > 0) {
    server_->retire();
    for (front::http::Server* port : {http_.get(), grpc_.get()})
      if (port != nullptr) port->retire();
    clock_->sleep_for(drain_time_);
  }
  server_->begin_drain();
  if (grpc_) grpc_->begin_drain();
  if (http_) http_->drain(kLongestDrain);  // wait_for_end() reads the clock
  if (grpc_) grpc_->drain(kLongestDrain);
  answered_ = true;
  server_->abort();  // no client waits for what still runs
  if (metrics_) metrics_->drain(std::chrono::seconds(1));
  http_.reset();
  grpc_.reset();
  metrics_.reset();
  if (access_log_) access_log_->flush();
  control_threads_.reset();  // waits for the repository calls that run
  if (tracer_)               // sends the last traces
    tracer_->close(std::clamp<Nanoseconds>(exit_by_ - clock_->now(), Nanoseconds(0), front::Tracer::kLastPatience));
  loading_.join();
  server_->drain();
  const auto given_up = server_->given_up();
  hangs_ = std::any_of(given_up.begin(), given_up.end(), [](const auto& model) { return model.second > 0; });
  ended_ = true;
}

// Waits for shut_down() or its timeout.
ServeEnd ServeRun::wait_for_end(const ServeControl& control) const {
  if (wait_for_signal(control, ended_, exit_by_ + kToClose) != 0) return ServeEnd::kSignalled;
  if (ended_) return failed_ ? ServeEnd::kNotLoaded : hangs_ ? ServeEnd::kCutOff : ServeEnd::kDone;
  if (!answered_) {
    log::error("some requests were not answered within --exit-timeout-secs; they are refused or broken off");
    server_->abort();
    const int signal = wait_for_signal(control, ended_, control.clock->now() + kToClose);
    return signal != 0 ? ServeEnd::kSignalled : ServeEnd::kUnanswered;
  }
  log::warning("a model was still loading or running at the end of --exit-timeout-secs; it is aborted");
  return ServeEnd::kCutOff;
}

Result<std::unique_ptr<ServeRun>> ServeRun::open(ServeRequest request) {
  RIDGE_TRY(check_files(request.server.repositories));
  fit_machine(request);
  RIDGE_ASSIGN(request.server.recorder, start_recorder(request.record));
  std::unique_ptr<ServeRun> run(new ServeRun(std::move(request)));
  RIDGE_TRY(run->check_passed());
  RIDGE_TRY(run->open_files());
  if (run->request_.allow_metrics || run->request_.allow_http) run->gpus_.emplace();
  RIDGE_ASSIGN(run->server_, serve::Server::create(run->request_.server));
  run->control_threads_ = std::make_unique<front::ControlThreads>();
  RIDGE_TRY(run->open_ports());
  RIDGE_TRY(run->write_port_file());
  run->tell_service_manager("STATUS=loading the models");
  run->start_watchdog(true);
  log::info("models in the repository: {}", model_names(*run->server_));
  return run;
}

ServeEnd ServeRun::run(const ServeControl& control) {
  loading_ = std::jthread([this, loaded = control.loaded] {
    load();
    if (failed_) return loaded();
    const size_t ready = server_->index(true).size(), failed = failed_models(*server_).size();
    tell_service_manager(fmt::format("READY=1\nSTATUS={} ready{}", counted(static_cast<int64_t>(ready), "model"),
                                     failed > 0 ? fmt::format(", {} not loaded", failed) : ""));
    loaded();
  });
  const int signal = wait_for_signal(control, failed_);
  if (signal != 0)
    log::info("{}: finishing the requests in progress; a second signal exits at once", strsignal(signal));
  else
    control.not_loaded(not_loaded_);
  if (!failed_) drain_time_ = drain_time(request_, signal);
  clock_ = control.clock;
  exit_by_ = clock_->now() + std::min<std::chrono::milliseconds>(kLongestDrain, drain_time_ + request_.exit_timeout);
  stopper_ = std::jthread([this] { shut_down(); });
  return wait_for_end(control);
}

}  // namespace ridge::app
