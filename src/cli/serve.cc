// ridge serve DIR: answers inference requests for the models of a repository until it is stopped.
#include "app/serve.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>

#include "app/host_policies.h"
#include "base/log.h"
#include "cli/model_argument.h"
#include "cli/number_checks.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

constexpr const char* kServeVerb = "serve";

// Names and defaults as Triton's; docs/cli/serve.md lists the differences.
struct ServeOptions {
  app::ServeRequest request;  // options that need no further parsing
  std::string directory;
  std::vector<std::string> repositories, repositories_kserve;
  std::string control_mode = "none";
  bool strict_model_config = false, no_auto_complete = false;
  std::vector<std::string> no_effect;  // values of kNoEffect
  int64_t exit_timeout_seconds = 30, warmup_timeout_seconds = 1800;
  std::string record;
  std::string tls_cert, tls_key, tls_client_ca;
  std::vector<std::string> cache_config, shadows, trace_config;
  std::vector<std::string> host_policies;
  std::string allow_client_shm = "local", allow_model_control = "local";
  std::string unix_mode = "660";
  std::string grpc_compression = "none";
  int log_verbose = 0;
  std::string log_format = "text";
  bool log_info = true, log_warning = true, log_error = true;
};

// Options of tritonserver's command line that have nothing to set here: accepted, with one warning.
constexpr std::array kNoEffect = {"--backend-config",
                                  "--backend-directory",
                                  "--buffer-manager-thread-count",
                                  "--cuda-memory-pool-byte-size",
                                  "--grpc-http2-max-ping-strikes",
                                  "--grpc-http2-max-pings-without-data",
                                  "--grpc-http2-min-recv-ping-interval-without-data",
                                  "--grpc-infer-allocation-pool-size",
                                  "--grpc-keepalive-permit-without-calls",
                                  "--min-supported-compute-capability",
                                  "--model-load-thread-count",
                                  "--pinned-memory-pool-byte-size",
                                  "--rate-limit",
                                  "--rate-limit-resource"};

// Flags that take =true or =false (or 1, 0); alone they mean true.
std::vector<std::pair<std::string, bool*>> switches(ServeOptions& options) {
  return {{"--strict-readiness", &options.request.server.strict_readiness},
          {"--exit-on-error", &options.request.exit_on_error},
          {"--strict-model-config", &options.strict_model_config},
          {"--disable-auto-complete-config", &options.no_auto_complete},
          {"--allow-http", &options.request.allow_http},
          {"--allow-metrics", &options.request.allow_metrics},
          {"--allow-grpc", &options.request.allow_grpc},
          {"--log-info", &options.log_info},
          {"--log-warning", &options.log_warning},
          {"--log-error", &options.log_error}};
}

// "660", as chmod takes it.
std::optional<uint32_t> mode_of(std::string_view text) {
  uint32_t mode = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (failed != std::errc() || end != text.data() + text.size() || mode > 0777) return std::nullopt;
  return mode;
}

// An option in whole `Unit`s that sets a duration in milliseconds.
template <typename Unit>
CLI::Option* add_time(CLI::App& app, const char* name, auto& into) {
  return app.add_option_function<double>(
      name, [&into](double number) { into = std::chrono::duration_cast<std::chrono::milliseconds>(Unit(number)); });
}

void bind(CLI::App& app, ServeOptions& options) {
  using Seconds = std::chrono::duration<double>;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  app.add_option("DIR", options.directory);
  app.add_option("--model-repository", options.repositories);
  app.add_option("--model-store", options.repositories_kserve);
  app.add_option("--load-model", options.request.server.startup_models);
  app.option_defaults()->take_last();  // of everything below: overrides a wrapper script's default
  app.add_option("--model-control-mode", options.control_mode)->check(CLI::IsMember({"none", "explicit", "poll"}));
  add_time<Seconds>(app, "--repository-poll-secs", options.request.server.poll_period)
      ->check(in_range(0.001, 1'000'000));
  app.add_option("--exit-timeout-secs", options.exit_timeout_seconds)->check(in_range(0, 31'536'000));
  app.add_option("--warmup-timeout-secs", options.warmup_timeout_seconds)->check(in_range(0, 1'000'000));
  add_time<Seconds>(app, "--run-timeout-secs", options.request.server.run_limit)->check(in_range(0, 1'000'000));
  add_time<Seconds>(app, "--drain-secs", options.request.drain_time)->check(in_range(0, 3600));
  app.add_option("--response-cache-bytes,--response-cache-byte-size", options.request.server.response_cache_bytes)
      ->check(not_negative());
  app.add_option("--engine-library", options.request.server.engine_library);
  app.add_option("--record", options.record);
  app.add_option("--http-address", options.request.http_address);
  const CLI::Validator port = in_range(0, 65535);
  app.add_option("--http-port", options.request.http_port)->check(port);
  app.add_option("--http-thread-count", options.request.http_threads)->check(in_range(0, 256));
  app.add_option("--http-max-connections", options.request.http_max_connections)->check(in_range(1, 1'000'000));
  app.add_option("--http-max-connections-per-address", options.request.http_max_connections_per_address)
      ->check(in_range(0, 1'000'000));
  app.add_option("--http-max-input-size", options.request.max_input_bytes)->check(positive());
  app.add_option("--max-body-memory", options.request.max_body_memory)->check(positive());
  add_time<Seconds>(app, "--http-request-timeout-secs", options.request.http_timeout)
      ->check(in_range(0.001, 1'000'000));
  add_time<Seconds>(app, "--http-idle-timeout-secs", options.request.idle_timeout)->check(in_range(0.1, 1'000'000));
  app.add_option("--metrics-address", options.request.metrics_address);
  app.add_option("--metrics-port", options.request.metrics_port)->check(port);
  app.add_option("--grpc-address", options.request.grpc_address);
  app.add_option("--grpc-port", options.request.grpc_port)->check(port);
  app.add_option("--grpc-infer-thread-count", options.request.grpc_threads)->check(in_range(0, 256));
  app.add_option("--grpc-infer-response-compression-level", options.grpc_compression)
      ->check(CLI::IsMember({"none", "low", "medium", "high"}));
  const CLI::Validator milliseconds = in_range(0, 2'147'483'647);
  add_time<Milliseconds>(app, "--grpc-keepalive-time", options.request.grpc.streams.keepalive_time)
      ->check(milliseconds);
  add_time<Milliseconds>(app, "--grpc-keepalive-timeout", options.request.grpc.streams.keepalive_timeout)
      ->check(milliseconds);
  add_time<Milliseconds>(app, "--grpc-max-connection-age", options.request.grpc.streams.connection_age)
      ->check(milliseconds);
  add_time<Milliseconds>(app, "--grpc-max-connection-age-grace", options.request.grpc.streams.connection_age_grace)
      ->check(milliseconds);
  app.add_option("--tls-cert", options.tls_cert);
  app.add_option("--tls-key", options.tls_key);
  app.add_option("--tls-client-ca", options.tls_client_ca);
  app.add_option("--keys", options.request.keys_file);
  app.add_option("--port-file", options.request.port_file);
  const CLI::IsMember clients({"local", "true", "false", "1", "0"});
  app.add_option("--allow-client-shm", options.allow_client_shm)->check(clients);
  app.add_option("--allow-model-control", options.allow_model_control)->check(clients);
  app.add_option("--unix-socket-mode", options.unix_mode)->check([](const std::string& text) {
    return mode_of(text) ? "" : "expected permissions as three octal digits: 660";
  });
  app.add_option("--access-log", options.request.access_log);
  app.add_option("--log-verbose", options.log_verbose);
  app.add_option("--log-format", options.log_format)->check(CLI::IsMember({"text", "json", "default", "ISO8601"}));
  for (auto& [name, value] : switches(options)) app.add_flag(name, *value);
  app.option_defaults()->take_all();
  app.add_option("--shadow", options.shadows);
  app.add_option("--host-policy", options.host_policies);
  app.add_option("--cache-config", options.cache_config);
  app.add_option("--trace-config", options.trace_config);
  for (const char* name : kNoEffect) app.add_option(name, options.no_effect);
}

void warn_of_no_effect(const CLI::App& app) {
  std::vector<std::string> given;
  for (const char* name : kNoEffect)
    if (app.count(name) > 0) given.push_back(name);
  if (!given.empty())
    log::warning("{} {} no effect here; the model's config.pbtxt sets what ridge has of it",
                 CLI::detail::join(given, ", "), given.size() == 1 ? "has" : "have");
}

// "--allow-http true" equals "--allow-http=true".
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

front::ClientPolicy client_policy(const std::string& clients) {
  if (clients == "local") return front::ClientPolicy::kThisMachine;
  return clients == "true" || clients == "1" ? front::ClientPolicy::kAll : front::ClientPolicy::kNone;
}

Result<std::optional<front::TlsFiles>> tls_files(const ServeOptions& options) {
  if (options.tls_cert.empty() && options.tls_key.empty() && options.tls_client_ca.empty())
    return std::optional<front::TlsFiles>();
  if (options.tls_cert.empty() || options.tls_key.empty())
    return invalid("TLS needs both a certificate and its key: --tls-cert FILE --tls-key FILE");
  return std::optional(front::TlsFiles{options.tls_cert, options.tls_key, options.tls_client_ca});
}

// Triton's "local,size=BYTES".
Status set_cache(const std::vector<std::string>& configs, uint64_t& bytes) {
  constexpr std::string_view kLocal = "local,size=";
  for (const std::string& config : configs) {
    uint64_t size = 0;
    const char* const end = config.data() + config.size();
    if (config.starts_with(kLocal))
      if (const auto read = std::from_chars(config.data() + kLocal.size(), end, size);
          read.ec == std::errc{} && read.ptr == end) {
        bytes = size;
        continue;
      }
    return invalid(fmt::format("--cache-config {}: expected local,size=BYTES, the only cache here", config));
  }
  return {};
}

Status set_shadows(const std::vector<std::string>& texts, std::vector<serve::ShadowRoute>& shadows) {
  for (const std::string& text : texts) {
    RIDGE_ASSIGN(serve::ShadowRoute shadow, serve::parse_shadow_route(text));
    for (const serve::ShadowRoute& other : shadows)
      if (other.model == shadow.model)
        return Error{Code::kInvalid,
                     "--shadow " + text + ": model '" + shadow.model + "' has a shadow already; one per model"};
    shadows.push_back(std::move(shadow));
  }
  return {};
}

Result<app::ServeRequest> request_of(const ServeOptions& options) {
  app::ServeRequest request = options.request;
  serve::ServerOptions& server = request.server;
  if (!options.directory.empty()) server.repositories.push_back(options.directory);
  for (const auto* more : {&options.repositories, &options.repositories_kserve})
    server.repositories.insert(server.repositories.end(), more->begin(), more->end());
  if (server.repositories.empty())
    return Error{Code::kInvalid, "name the repository: ridge serve DIR (or --model-repository=DIR)"};
  if (options.control_mode == "explicit") server.control = serve::ControlMode::kExplicit;
  if (options.control_mode == "poll") server.control = serve::ControlMode::kPoll;
  if (!server.startup_models.empty() && server.control != serve::ControlMode::kExplicit)
    return Error{Code::kInvalid, "--load-model needs --model-control-mode=explicit; without it every model is loaded"};
  if (options.strict_model_config || options.no_auto_complete)
    log::warning("configurations are always completed from the models; --strict-model-config has no effect");
  if (!options.record.empty()) {
    RIDGE_ASSIGN(request.record, serve::parse_record_option(options.record));
  }
  RIDGE_TRY(set_cache(options.cache_config, server.response_cache_bytes));
  RIDGE_ASSIGN(server.host_policies, app::parse_host_policies(options.host_policies));
  RIDGE_TRY(set_shadows(options.shadows, server.shadows));
  RIDGE_ASSIGN(request.trace, app::parse_trace_config(options.trace_config));
  if (request.drain_time) server.drain_time = *request.drain_time;
  server.warmup_limit = std::chrono::seconds(options.warmup_timeout_seconds);
  request.exit_timeout = std::chrono::seconds(options.exit_timeout_seconds);
  RIDGE_ASSIGN(request.tls, tls_files(options));
  request.shared_memory = client_policy(options.allow_client_shm);
  request.model_control = client_policy(options.allow_model_control);
  request.unix_mode = *mode_of(options.unix_mode);
  request.grpc.packs_answers = options.grpc_compression != "none";
  if (!request.allow_http && !request.allow_grpc && !request.allow_metrics)
    return Error{Code::kInvalid, "nothing would be served: --allow-http, --allow-grpc and --allow-metrics are false"};
  return request;
}

void set_log(const ServeOptions& options) {
  log::set_format(*log::format_of(options.log_format));
  if (options.log_verbose > 0)
    log::set_level(log::Level::kDebug);
  else if (!options.log_error)
    log::set_level(log::Level::kOff);
  else if (!options.log_warning)
    log::set_level(log::Level::kError);
  else if (!options.log_info)
    log::set_level(log::Level::kWarning);
}

// From here on SIGTERM, SIGINT and, unless ignored (nohup), SIGHUP wait for next_signal() in every later thread.
sigset_t hold_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  struct sigaction hang_up {};
  if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

int next_signal(const sigset_t& signals, Nanoseconds at_most) {
  const timespec limit{.tv_sec = at_most.count() / 1'000'000'000, .tv_nsec = at_most.count() % 1'000'000'000};
  return std::max(0, sigtimedwait(&signals, nullptr, &limit));
}

// Interrupted work ends with the process, here.
int exit_status(app::ServeEnd end) {
  switch (end) {
    case app::ServeEnd::kDone: return kDone;
    case app::ServeEnd::kNotLoaded: return kFailed;
    case app::ServeEnd::kCutOff: _exit(kDone);
    case app::ServeEnd::kUnanswered:
    case app::ServeEnd::kSignalled: _exit(kFailed);
  }
  return kFailed;
}

}  // namespace

int serve(std::span<const std::string> arguments) {
  ServeOptions options;
  CLI::App app;
  bind(app, options);
  ParseResult parsed = parse(app, kServeVerb, with_joined_switches(arguments));
  if (!parsed.go_on) return parsed.exit;
  set_log(options);
  warn_of_no_effect(app);
  if (Status fetched = fetch_url(options.directory); !fetched) return fail(kServeVerb, fetched.error());
  Result<app::ServeRequest> request = request_of(options);
  if (!request) {
    fail(kServeVerb, request.error());
    return kUsage;
  }
  if (auto manager = app::ServiceManager::of_this_process(); manager)
    request->service_manager = std::move(*manager);
  else
    return fail(kServeVerb, manager.error());
  const sigset_t signals = hold_signals();
  Result<std::unique_ptr<app::ServeRun>> run = app::ServeRun::open(std::move(*request));
  if (!run) return fail(kServeVerb, run.error());
  Progress progress("serve");
  progress.update("loading the models", kUnknownShare);
  app::ServeControl control;
  control.loaded = [&] { progress.finish(); };
  control.next_signal = [&](Nanoseconds at_most) { return next_signal(signals, at_most); };
  control.not_loaded = [](const std::string& reasons) {
    fail(kServeVerb, {Code::kFailed, "--exit-on-error: not all models could be loaded: " + reasons});
  };
  return exit_status((*run)->run(control));
}

}  // namespace ridge::cli
