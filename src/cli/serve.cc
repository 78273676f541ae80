// ridge serve DIR: answers inference requests for the models of a repository until it is told to stop.
#include "serve/server.h"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/terminal.h"
#include "front/http/api.h"
#include "front/http/server.h"
#include "front/model_metrics.h"
#include "machine/probe.h"
#include "serve/recorder.h"
#include "telemetry/gpus.h"
#include "telemetry/host.h"

namespace ridge::cli {
namespace {

namespace http = front::http;

constexpr const char* kServeVerb = "serve";
constexpr std::chrono::hours kLongest{24 * 365};  // that anything is waited for

// Names and defaults as Triton's; where they differ, docs/cli/serve.md says so.
struct ServeOptions {
  std::string directory;
  std::vector<std::string> repositories, repositories_kserve, load_models;
  std::string control_mode = "none";
  double poll_seconds = 15;
  bool strict_readiness = true, exit_on_error = false;
  bool strict_model_config = false, no_auto_complete = false;
  int64_t exit_timeout_seconds = 30;
  std::string engine_library;
  std::string record;

  bool allow_http = true, allow_metrics = true, allow_grpc = false;
  std::string http_address = "0.0.0.0", metrics_address;
  uint16_t http_port = 8000, metrics_port = 8002, grpc_port = 8001;
  int http_threads = 0;
  double http_timeout_seconds = 30;
  uint64_t max_input_bytes = uint64_t{64} << 20;
  std::string port_file;
  std::string allow_client_shm = "local";

  int log_verbose = 0;
  bool log_info = true, log_warning = true, log_error = true;
};

// Flags that take =true or =false (or 1, 0); alone they mean true.
std::vector<std::pair<std::string, bool*>> switches(ServeOptions& options) {
  return {{"--strict-readiness", &options.strict_readiness},
          {"--exit-on-error", &options.exit_on_error},
          {"--strict-model-config", &options.strict_model_config},
          {"--disable-auto-complete-config", &options.no_auto_complete},
          {"--allow-http", &options.allow_http},
          {"--allow-metrics", &options.allow_metrics},
          {"--allow-grpc", &options.allow_grpc},
          {"--log-info", &options.log_info},
          {"--log-warning", &options.log_warning},
          {"--log-error", &options.log_error}};
}

void bind(CLI::App& app, ServeOptions& options) {
  app.add_option("DIR", options.directory);
  app.add_option("--model-repository", options.repositories);
  app.add_option("--model-store", options.repositories_kserve);
  app.add_option("--load-model", options.load_models);
  app.option_defaults()->take_last();  // of everything below: a wrapper script's default may be overruled
  app.add_option("--model-control-mode", options.control_mode)->check(CLI::IsMember({"none", "explicit", "poll"}));
  app.add_option("--repository-poll-secs", options.poll_seconds)->check(CLI::PositiveNumber);
  app.add_option("--exit-timeout-secs", options.exit_timeout_seconds)->check(CLI::NonNegativeNumber);
  app.add_option("--engine-library", options.engine_library);
  app.add_option("--record", options.record);
  app.add_option("--http-address", options.http_address);
  app.add_option("--http-port", options.http_port);
  app.add_option("--http-thread-count", options.http_threads)->check(CLI::Range(0, 256));
  app.add_option("--http-max-input-size", options.max_input_bytes)->check(CLI::PositiveNumber);
  app.add_option("--http-request-timeout-secs", options.http_timeout_seconds)->check(CLI::PositiveNumber);
  app.add_option("--metrics-address", options.metrics_address);
  app.add_option("--metrics-port", options.metrics_port);
  app.add_option("--grpc-port", options.grpc_port);
  app.add_option("--port-file", options.port_file);
  app.add_option("--allow-client-shm", options.allow_client_shm)
      ->check(CLI::IsMember({"local", "true", "false", "1", "0"}));
  app.add_option("--log-verbose", options.log_verbose);
  for (auto& [name, value] : switches(options)) app.add_flag(name, *value);
}

// "--allow-http true" is as good as "--allow-http=true".
std::vector<std::string> with_joined_switches(std::span<const std::string> arguments) {
  ServeOptions unused;
  auto names = switches(unused);
  constexpr std::array<std::string_view, 4> kValues = {"true", "false", "1", "0"};
  std::vector<std::string> result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    result.push_back(arguments[i]);
    bool is_switch =
        std::any_of(names.begin(), names.end(), [&](const auto& row) { return row.first == arguments[i]; });
    bool has_value =
        i + 1 < arguments.size() && std::find(kValues.begin(), kValues.end(), arguments[i + 1]) != kValues.end();
    if (is_switch && has_value) result.back() += "=" + arguments[++i];
  }
  return result;
}

Result<serve::ServerOptions> server_options(const ServeOptions& options) {
  serve::ServerOptions server;
  if (!options.directory.empty()) server.repositories.push_back(options.directory);
  for (const auto* more : {&options.repositories, &options.repositories_kserve})
    server.repositories.insert(server.repositories.end(), more->begin(), more->end());
  if (server.repositories.empty())
    return Error{Code::kInvalid, "name the repository: ridge serve DIR (or --model-repository=DIR)"};
  if (options.control_mode == "explicit") server.control = serve::ControlMode::kExplicit;
  if (options.control_mode == "poll") server.control = serve::ControlMode::kPoll;
  if (!options.load_models.empty() && server.control != serve::ControlMode::kExplicit)
    return Error{Code::kInvalid, "--load-model needs --model-control-mode=explicit; without it every model is loaded"};
  if (options.strict_model_config || options.no_auto_complete)
    log::warning("configurations are always completed from the models; --strict-model-config has no effect");
  server.startup_models = options.load_models;
  server.poll_period = std::chrono::milliseconds(static_cast<int64_t>(options.poll_seconds * 1000));
  server.strict_readiness = options.strict_readiness;
  server.engine_library = options.engine_library;
  if (!options.record.empty()) RIDGE_TRY(serve::parse_record_option(options.record));
  return server;
}

Result<std::unique_ptr<serve::Recorder>> start_recorder(const std::string& option) {
  RIDGE_ASSIGN(serve::RecordOptions record, serve::parse_record_option(option));
  log::info("the inputs of the first {} requests are recorded in {}", record.most, record.folder);
  return serve::Recorder::start(std::move(record));
}

void set_log_level(const ServeOptions& options) {
  if (options.log_verbose > 0)
    log::set_level(log::Level::kDebug);
  else if (!options.log_error)
    log::set_level(log::Level::kOff);
  else if (!options.log_warning)
    log::set_level(log::Level::kError);
  else if (!options.log_info)
    log::set_level(log::Level::kWarning);
}

// The open ports. Destroying it closes them.
struct Front {
  std::unique_ptr<http::Server> http;
  std::unique_ptr<http::Server> metrics;
};

// Cores that this process may keep busy: affinity and container quota count, not what the machine has.
int usable_cores() {
  Result<machine::Machine> machine = machine::probe();
  if (machine) return machine::usable_threads(*machine);
  log::warning("the cores of this machine are not known ({}); models get the engine's default number of threads",
               machine.error().message);
  return 0;
}

// One thread moves about 100,000 small requests a second; the rest of the machine belongs to the models.
int http_threads(const ServeOptions& options, int cores) {
  return options.http_threads > 0 ? options.http_threads : std::clamp(cores / 4, 1, 8);
}

front::RegionPolicy region_policy(const ServeOptions& options) {
  if (options.allow_client_shm == "local") return front::RegionPolicy::kThisMachine;
  const bool all = options.allow_client_shm == "true" || options.allow_client_shm == "1";
  return all ? front::RegionPolicy::kAll : front::RegionPolicy::kNone;
}

Result<Front> open_ports(const ServeOptions& options, int threads, serve::Server& server, telemetry::HostSampler& host,
                         const telemetry::GpuSampler* gpus) {
  auto metrics = [&server, &host, gpus] {
    Result<std::vector<serve::ModelStatistics>> statistics = server.statistics("", 0);
    return front::metrics_text(statistics ? *statistics : std::vector<serve::ModelStatistics>{}, host.sample(),
                               gpus ? gpus->last() : std::vector<telemetry::GpuSample>{});
  };
  Front front;
  if (options.allow_http) {
    http::ApiOptions api{.server_version = RIDGE_VERSION,
                         .max_input_bytes = options.max_input_bytes,
                         .io_threads = static_cast<size_t>(threads),
                         .conversion_threads = static_cast<size_t>(std::max(2, threads)),
                         .shared_memory = region_policy(options)};
    std::chrono::milliseconds patience(static_cast<int64_t>(options.http_timeout_seconds * 1000));
    http::ServerOptions listen{.address = options.http_address,
                               .port = options.http_port,
                               .threads = threads,
                               .head_timeout = patience,
                               .stall_timeout = patience};
    RIDGE_ASSIGN(front.http, http::Server::start(listen, std::make_shared<http::Api>(server, api, metrics)));
    log::info("http: listening on {}:{}", options.http_address, front.http->port());
  }
  bool own_port = options.metrics_port == 0 || options.metrics_port != options.http_port || !options.allow_http;
  if (options.allow_metrics && own_port) {
    std::string address = options.metrics_address.empty() ? options.http_address : options.metrics_address;
    http::ServerOptions listen{.address = address, .port = options.metrics_port};
    RIDGE_ASSIGN(front.metrics, http::Server::start(listen, std::make_shared<http::MetricsApi>(metrics)));
    log::info("metrics: http://{}:{}/metrics", address, front.metrics->port());
  }
  return front;
}

Status write_port_file(const ServeOptions& options, const Front& front) {
  if (options.port_file.empty()) return {};
  Json ports = Json::object();
  if (front.http) ports["http"] = front.http->port();
  if (front.metrics) ports["metrics"] = front.metrics->port();
  return write_file_atomically(options.port_file, dump_json(ports) + "\n");
}

// SIGTERM and SIGINT wait for wait_for_signal() from here on, in every thread that starts later.
sigset_t hold_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

// The next signal, or 0 when `until` has become true or the deadline has passed.
int wait_for_signal(const sigset_t& signals, const std::atomic<bool>& until, TimePoint deadline = TimePoint::max()) {
  constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 20'000'000};
  while (!until && SteadyClock::now() < deadline) {
    int signal = sigtimedwait(&signals, nullptr, &kLook);
    if (signal > 0) return signal;
  }
  return 0;
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

// Loads at start, on a thread of its own, so that a signal is heard meanwhile.
class Loading {
 public:
  Loading(serve::Server& server, bool exit_on_error)
      : thread_([this, &server, exit_on_error] { run(server, exit_on_error); }) {}
  void join() { thread_.join(); }
  // A model could not be loaded, and that is to end the server.
  const std::atomic<bool>& failed() const { return failed_; }

 private:
  void run(serve::Server& server, bool exit_on_error) {
    server.load_all();
    if (server.draining()) return;
    std::string reasons = failed_models(server);
    if (reasons.empty()) return log::info("all models are loaded");
    if (!exit_on_error) return log::error("not all models could be loaded: {}", reasons);
    fail(kServeVerb, {Code::kFailed, "--exit-on-error: not all models could be loaded: " + reasons});
    failed_ = true;
  }

  std::atomic<bool> failed_ = false;
  std::jthread thread_;  // last: starts when the rest is there
};

// How far the end has come.
struct Stopping {
  std::atomic<bool> answered = false;  // every request that was accepted
  std::atomic<bool> ended = false;     // and every thread
};

// Answers what is in progress, refuses the rest, ends everything but the caller's own thread.
void shut_down(serve::Server& server, Front& front, Loading& loading, Stopping& state) {
  server.begin_drain();
  if (front.http) front.http->drain(kLongest);  // wait_for_end() looks at the clock
  state.answered = true;
  if (front.metrics) front.metrics->drain(std::chrono::seconds(1));
  front = {};  // ends repository calls whose clients have gone
  loading.join();
  server.drain();
  state.ended = true;
}

// Waits for shut_down() until its time is over: then what is left is cut off, and the process ends here. An engine that
// opens a model or runs it cannot be interrupted, and no request waits for it.
void wait_for_end(const sigset_t& signals, const Stopping& state, std::chrono::seconds patience) {
  constexpr std::chrono::seconds kToClose{1};  // sockets and threads, when nothing has to be waited for
  if (wait_for_signal(signals, state.ended, SteadyClock::now() + patience + kToClose) != 0) _exit(kFailed);
  if (state.ended) return;
  if (state.answered) {
    log::warning("a model was still loading or running at the end of --exit-timeout-secs; it is aborted");
    _exit(kDone);
  }
  log::error("some requests were not answered within --exit-timeout-secs");
  _exit(kFailed);
}

// Loads, serves, stops. Both the loading and the shutting down leave this thread free to hear a signal.
int serve_until_signal(const ServeOptions& options, serve::Server& server, Front& front, const sigset_t& signals) {
  Loading loading(server, options.exit_on_error);
  if (int signal = wait_for_signal(signals, loading.failed()); signal != 0)
    log::info("{}: finishing the requests in progress; a second signal exits at once", strsignal(signal));
  Stopping state;
  std::jthread stopper([&] { shut_down(server, front, loading, state); });
  wait_for_end(signals, state,
               std::min<std::chrono::seconds>(kLongest, std::chrono::seconds(options.exit_timeout_seconds)));
  return loading.failed() ? kFailed : kDone;
}

}  // namespace

int serve(std::span<const std::string> arguments) {
  ServeOptions options;
  CLI::App app;
  bind(app, options);
  Parsed parsed = parse(app, kServeVerb, with_joined_switches(arguments));
  if (!parsed.go_on) return parsed.exit;
  set_log_level(options);
  Result<serve::ServerOptions> wanted = server_options(options);
  if (!wanted) {
    fail(kServeVerb, wanted.error());
    return kUsage;
  }
  if (options.allow_grpc) log::info("gRPC is not served by this version; --allow-grpc and --grpc-port have no effect");
  wanted->cores = usable_cores();
  const int threads = http_threads(options, wanted->cores);
  sigset_t signals = hold_signals();
  if (!options.record.empty()) {
    Result<std::unique_ptr<serve::Recorder>> recorder = start_recorder(options.record);
    if (!recorder) return fail(kServeVerb, recorder.error());
    wanted->recorder = std::move(*recorder);
  }
  telemetry::HostSampler host;
  std::optional<telemetry::GpuSampler> gpus;
  if (options.allow_metrics || options.allow_http) gpus.emplace();
  Result<std::unique_ptr<serve::Server>> server = serve::Server::create(std::move(*wanted));
  if (!server) return fail(kServeVerb, server.error());
  Result<Front> front = open_ports(options, threads, **server, host, gpus ? &*gpus : nullptr);
  if (!front) return fail(kServeVerb, front.error());
  if (Status written = write_port_file(options, *front); !written) return fail(kServeVerb, written.error());
  log::info("models in the repository: {}", model_names(**server));
  return serve_until_signal(options, **server, *front, signals);
}

}  // namespace ridge::cli
