// The serving of a language model, from its document.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "cli/plan_text.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

double number_at(const Json& json, const char* name) {
  return json.contains(name) && json[name].is_number() ? json[name].get<double>() : 0;
}
std::string text_at(const Json& json, const char* name) { return json.value(name, std::string()); }

std::string split_text(const Json& p) {
  std::string text = fmt::format("TP {}", p.value("tensor", 1));
  if (p.value("data", 1) > 1) text += fmt::format(" DP {}", p.value("data", 1));
  if (p.value("pipeline", 1) > 1) text += fmt::format(" PP {}", p.value("pipeline", 1));
  if (p.value("expert", 1) > 1) text += fmt::format(" EP {}", p.value("expert", 1));
  return text;
}

bool is_disaggregated(const Json& s) { return s.contains("prefill") && s["prefill"].is_object(); }

// With workers of prompts beside those of tokens both, each with their number.
std::string split_of(const Json& s) {
  if (!is_disaggregated(s)) return split_text(s["parallel"]);
  const Json& prefill = s["prefill"];
  return fmt::format("{} x {} prefill, {} x {} decode", prefill.value("workers", 1), split_text(prefill["parallel"]),
                     s.value("replicas", 1), split_text(s["parallel"]));
}

std::string spread_text(const Json& s, const char* name, const char* error) {
  const Json& t = s[name];
  const double mean = number_at(t, "mean");
  return fmt::format("mean {}; median {}, p99 {}; measured values are expected from {} to {}", format_ms(mean),
                     format_ms(number_at(t, "p50")), format_ms(number_at(t, "p99")),
                     format_ms(mean * number_at(s[error], "low")), format_ms(mean * number_at(s[error], "high")));
}

std::string summary(const Json& document) {
  const Json& s = document["serving"];
  std::vector<std::vector<std::string>> rows;
  const auto row = [&](const char* name, std::string value, std::string remark) {
    rows.push_back({name, std::move(value), std::move(remark)});
  };
  row("parameters", format_count(number_at(document, "params")),
      format_count(number_at(document, "active_params")) + " used per token (derived)");
  row("weights", format_bytes(number_at(s["memory"], "weights")),
      fmt::format("per GPU, most as {} (derived)", text_at(s, "weights")));
  row("cache", format_bytes(number_at(s["memory"], "cache")),
      fmt::format("per GPU, {:.0f} tokens per replica (derived)", number_at(s["memory"], "cache_tokens")));
  row("first token", format_ms(number_at(s["ttft_ms"], "mean")), spread_text(s, "ttft_ms", "ttft_error"));
  row("each token", format_ms(number_at(s["tpot_ms"], "mean")), spread_text(s, "tpot_ms", "tpot_error"));
  row("limit", format_ms(number_at(s, "bound_tpot_ms")),
      "of a decode step of the mean batch: every kernel at its physical bound (derived)");
  if (is_disaggregated(s))
    row("prefill", format_percent(100 * number_at(s["prefill"], "busy")),
        fmt::format("of the time computing prompts; a prompt's cache takes {} to a decode worker",
                    format_ms(number_at(s["prefill"], "transfer_ms"))));
  // Rates and what follows from them have the range of the time per token.
  const double fast = number_at(s["tpot_error"], "low"), slow = number_at(s["tpot_error"], "high");
  row("output", format_rate(number_at(s, "output_tokens_per_s"), "tokens"),
      fmt::format("{} per GPU, expected from {} to {}; {} per user, from {} to {}",
                  format_rate(number_at(s, "tokens_per_s_per_gpu"), "tokens"),
                  format_rate(number_at(s, "tokens_per_s_per_gpu") / slow, "tokens"),
                  format_rate(number_at(s, "tokens_per_s_per_gpu") / fast, "tokens"),
                  format_rate(number_at(s, "tokens_per_s_per_user"), "tokens"),
                  format_rate(number_at(s, "tokens_per_s_per_user") / slow, "tokens"),
                  format_rate(number_at(s, "tokens_per_s_per_user") / fast, "tokens")));
  if (s.contains("usd_per_million") && s["usd_per_million"].is_number())
    row("cost", format_usd(number_at(s, "usd_per_million")),
        fmt::format("per million output tokens, rented at the list price; expected from {} to {}",
                    format_usd(fast * number_at(s, "usd_per_million")),
                    format_usd(slow * number_at(s, "usd_per_million"))));
  if (s.contains("joules_per_token") && s["joules_per_token"].is_number())
    row("energy", format_energy(number_at(s, "joules_per_token")),
        fmt::format("per output token, GPUs at full power; expected from {} to {}",
                    format_energy(fast * number_at(s, "joules_per_token")),
                    format_energy(slow * number_at(s, "joules_per_token"))));
  return table({}, rows, "lrl");
}

std::string kernel_table(const Json& kernels) {
  std::vector<std::vector<std::string>> rows;
  double all = 0;
  for (const Json& k : kernels) all += number_at(k, "ms");
  for (const Json& k : kernels)
    rows.push_back(
        {text_at(k, "name"), format_ms(number_at(k, "ms")), format_percent(100 * number_at(k, "ms") / all),
         format_ms(number_at(k, "bound_ms")),
         number_at(k, "bound_ms") > 0 ? format_percent(number_at(k, "percent_of_limit")) : "-", text_at(k, "limiter"),
         text_at(k, "law"),
         k.contains("median_error_percent") ? fmt::format("{:.0f} %", number_at(k, "median_error_percent")) : "-"});
  return table({"kernel", "time", "share", "bound", "of the limit", "limiter", "law", "its error"}, rows,
               "lrr2r3r4l1l1r");
}

// "12.1 ms x0.84-1.20": a mean and the factors of its range.
std::string ranged(const Json& s, const char* name, const char* error) {
  return fmt::format("{} x{:.2f}-{:.2f}", format_ms(number_at(s[name], "mean")), number_at(s[error], "low"),
                     number_at(s[error], "high"));
}

std::string ways_table(const Json& ways, size_t most) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& s : ways) {
    if (rows.size() == most) break;
    rows.push_back({fmt::format("{} x {}", s.value("gpus", 1), text_at(s, "gpu")), split_of(s), text_at(s, "engine"),
                    text_at(s, "weights"),
                    s.value("concurrency", 0) > 0 ? std::to_string(s.value("concurrency", 0)) : "-",
                    ranged(s, "ttft_ms", "ttft_error"), ranged(s, "tpot_ms", "tpot_error"),
                    fmt::format("{:.0f}", number_at(s, "tokens_per_s_per_gpu")),
                    fmt::format("{:.0f}", number_at(s, "tokens_per_s_per_user")),
                    number_at(s, "usd_per_million") > 0 ? format_usd(number_at(s, "usd_per_million")) : "-",
                    s.value("meets", true) ? "" : "misses the goal"});
  }
  return table({"GPUs", "split", "engine", "weights", "at once", "first token", "each token", "tokens/s/GPU", "/user",
                "per million", ""},
               rows, "lll1l2r3rrrr2r4l");
}

}  // namespace

std::string serving_text(const Json& document) {
  if (!document.contains("serving"))
    return fmt::format("{}: {}\n", text_at(document, "model"), text_at(document, "reason"));
  const Json& s = document["serving"];
  std::string load = fmt::format("{} at once", s.value("concurrency", 0));
  if (number_at(s, "requests_per_s") > 0) load = fmt::format("{:g} requests/s", number_at(s, "requests_per_s"));
  if (document["workload"].value("trace_requests", 0) > 0)
    load = fmt::format("{} requests of a trace", document["workload"].value("trace_requests", 0));
  const Json& prompt = document["workload"]["prompt"];
  const Json& output = document["workload"]["output"];
  std::string text = fmt::format("{} · {} · {} x {} · {} · {} (predicted)\n", text_at(document, "model"),
                                 text_at(s, "engine"), s.value("gpus", 1), text_at(s, "gpu"), split_of(s), load);
  text += fmt::format("prompts of {} to {} tokens, outputs of {} to {}\n", prompt[0].get<int64_t>(),
                      prompt[1].get<int64_t>(), output[0].get<int64_t>(), output[1].get<int64_t>());
  text += summary(document);
  for (const Json& note : document.value("notes", Json::array())) text += note_text(note.get<std::string>());
  if (!document.value("met", true))
    text += note_text("no way that was tried meets the goals at the slow end of the expected range");
  text += "\na decode step of the mean batch\n" + kernel_table(s["decode_step"]);
  text += "\n" + text_at(s, "advice") + "\n" + text_at(s, "launch") + "\n";
  if (document.value("searched", size_t{1}) < 2) return text;
  text += fmt::format("\nbest of {} ways\n", document.value("searched", size_t{0})) + ways_table(document["ways"], 10);
  return text + "\nno other way is better in both rates\n" + ways_table(document["front"], 12);
}

}  // namespace ridge::cli
