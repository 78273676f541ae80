#include "app/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/kept.h"
#include "base/cache_folder.h"
#include "base/file.h"
#include "client/judgement.h"
#include "client/server_measurement.h"

namespace ridge::app {
namespace {

PastResult past_of(const About& about, const measure::Measurement& m) {
  PastResult past;
  past.about = about;
  past.model = m.model;
  past.model_digest = m.model_digest;
  past.shapes = m.shapes;
  past.engine = m.engine;
  past.engine_version = m.engine_version;
  past.device = m.device;
  past.precision = m.precision;
  past.batch = m.batch;
  past.instances = m.instances;
  past.threads = m.threads;
  past.throughput_per_s = m.throughput_per_s;
  past.p50_ms = m.latency_ms.p50;
  past.p99_ms = m.latency_ms.p99;
  past.ci95_percent = m.ci95_percent;
  past.percent_of_limit = m.percent_of_limit;
  if (m.load) past.rate_per_s = m.load->rate_per_s;
  past.disturbed = machine::disturbed(m.disturbance);
  return past;
}

std::vector<PastResult> of_tuning(const About& about, const measure::Measurement& baseline,
                                  const measure::Measurement& best) {
  PastResult past = past_of(about, best);
  past.model = baseline.model;  // the best may be a file of another precision
  past.model_digest = baseline.model_digest;
  return {std::move(past)};
}

Result<std::vector<PastResult>> of_shared_tuning(const About& about, const Json& document) {
  struct Shared {
    std::string name;
    measure::Measurement baseline, best;
  };
  std::optional<machine::Disturbance> together;
  RIDGE_TRY(read_fields(document, [&](FieldReader& visit) { visit.optional("disturbance", together); }));
  std::vector<PastResult> all;
  std::vector<std::string> names;
  for (const Json& model : document["models"]) {
    Shared shared;
    RIDGE_TRY(read_fields(model, [&](FieldReader& visit) {
      visit("name", shared.name);
      visit("baseline", shared.baseline);
      visit("best", shared.best);
    }));
    names.push_back(shared.name);
    std::ranges::move(of_tuning(about, shared.baseline, shared.best), std::back_inserter(all));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].disturbed |= machine::disturbed(together);
    for (size_t j = 0; j < names.size(); ++j)
      if (j != i) all[i].beside.push_back(names[j]);
  }
  return all;
}

// The load that the verb's last sentence names; null: no request was answered.
const client::Point* named_point(const client::ServerMeasurement& m) {
  const client::Point* last = nullptr;
  for (const client::Point& point : m.points) {
    if (point.samples == 0) continue;
    const bool answer = m.search && m.search->highest_per_s && point.rate_per_s == m.search->highest_per_s;
    if (answer) return &point;
    last = &point;
  }
  const client::Point* knee = client::knee(m.points);
  return last == nullptr || knee == nullptr ? last : knee;
}

std::vector<PastResult> of_server(const About& about, const client::ServerMeasurement& m) {
  const client::Point* point = named_point(m);
  if (point == nullptr) return {};
  PastResult past;
  past.about = about;
  past.model = m.model;
  past.url = m.url;
  past.engine = m.server;
  past.engine_version = m.server_version;
  past.batch = m.batch;
  past.callers = point->concurrency;
  past.throughput_per_s = point->rows_per_s;
  past.p50_ms = point->latency_ms.p50;
  past.p99_ms = point->latency_ms.p99;
  past.ci95_percent = point->ci95_percent;
  past.percent_of_limit = point->percent_of_limit.value_or(0);
  past.rate_per_s = point->rate_per_s;
  past.disturbed = machine::disturbed(m.disturbance);
  return {std::move(past)};
}

// One write of a whole line: processes that append at the same time do not mix.
Status append_line(const std::string& file, const std::string& line) {
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), failure);
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return Error{Code::kFailed, "write " + file + ": it cannot be opened"};
  const ssize_t written = write(descriptor, line.data(), line.size());
  close(descriptor);
  if (written != static_cast<ssize_t>(line.size()))
    return Error{Code::kFailed, "write " + file + ": not all was written"};
  return {};
}

Status drop_older_half(const std::string& file) {
  RIDGE_ASSIGN(const std::string text, read_file(file));
  const size_t end_of_line = text.find('\n', text.size() / 2);
  return end_of_line == std::string::npos ? Status() : write_file_atomically(file, text.substr(end_of_line + 1));
}

}  // namespace

Result<std::vector<PastResult>> past_results_of(const Json& document) {
  const About about = about_of(document);
  const std::string& verb = about.command.verb;
  if (verb == "bench") {
    RIDGE_ASSIGN(const measure::Measurement measured, from_json<measure::Measurement>(document));
    return std::vector<PastResult>{past_of(about, measured)};
  }
  if (verb == "bench server") {
    RIDGE_ASSIGN(const client::ServerMeasurement measured, from_json<client::ServerMeasurement>(document));
    return of_server(about, measured);
  }
  if (verb == "tune" && document.contains("models")) return of_shared_tuning(about, document);
  if (verb != "tune" || !document.contains("best"))
    return Error{Code::kInvalid, "a document of `ridge " + verb + "` has no place in the history of a model"};
  RIDGE_ASSIGN(const measure::Measurement baseline, from_json<measure::Measurement>(document["baseline"]));
  RIDGE_ASSIGN(const measure::Measurement best, from_json<measure::Measurement>(document["best"]));
  return of_tuning(about, baseline, best);
}

std::string history_file(const std::string& machine_id) {
  const char* wanted = std::getenv("RIDGE_HISTORY");
  if (machine_id.empty() || (wanted != nullptr && std::string_view(wanted) == "off")) return "";
  return cache_folder("history/" + machine_id + ".jsonl");
}

Status remember(const PastResult& past, const std::string& file) {
  if (file.empty()) return {};
  RIDGE_TRY(append_line(file, dump_json(json_of(past)) + "\n"));
  std::error_code failure;
  return std::filesystem::file_size(file, failure) > kMostHistoryBytes && !failure ? drop_older_half(file) : Status();
}

std::vector<PastResult> recall_history(const std::string& file) {
  std::vector<PastResult> all;
  const std::string text = file.empty() ? "" : text_or_empty(file);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (const Result<Json> json = parse_json(text.substr(begin, end - begin), file))
      if (Result<PastResult> past = from_json<PastResult>(*json)) all.push_back(std::move(*past));
    begin = end + 1;
  }
  return all;
}

bool is_of(const PastResult& past, const std::string& model, const std::string& digest) {
  if (!digest.empty() && !past.model_digest.empty()) return past.model_digest == digest;
  const std::filesystem::path given(model), known(past.model);
  if (given == known || given.filename() == known.filename()) return true;
  return !past.url.empty() && given.stem() == known;
}

}  // namespace ridge::app
