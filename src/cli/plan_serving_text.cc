// The serving of a language model, from its document.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/schema.h"
#include "cli/figure_table.h"
#include "cli/paragraph.h"
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

// Disaggregated: both splits, each with its number of workers.
std::string split_of(const Json& s) {
  if (!is_disaggregated(s)) return split_text(s["parallel"]);
  const Json& prefill = s["prefill"];
  return fmt::format("{} x {} prefill, {} x {} decode", prefill.value("workers", 1), split_text(prefill["parallel"]),
                     s.value("replicas", 1), split_text(s["parallel"]));
}

// The range that 80 % of measured values lie in, of a member that has one; empty in documents of before.
template <typename Format>
std::string range_text(const Json& s, const char* name, Format format) {
  const Json ranges = s.value("ranges", Json::object());
  if (!ranges.contains(name) || !ranges[name].is_object()) return {};
  const double low = number_at(ranges[name], "low"), high = number_at(ranges[name], "high");
  return low == high ? "" : format(low) + " to " + format(high);
}
std::string bracketed(const std::string& range) { return range.empty() ? range : " (" + range + ")"; }

std::string whole(double value) { return fmt::format("{:.0f}", value); }

std::string spread_text(const Json& s, const char* name) {
  const Json& t = s[name];
  return fmt::format("mean{}; median {}, p99 {}", bracketed(range_text(s, name, format_ms)),
                     format_ms(number_at(t, "p50")), format_ms(number_at(t, "p99")));
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
  row("first token", format_ms(number_at(s["ttft_ms"], "mean")), spread_text(s, "ttft_ms"));
  row("each token", format_ms(number_at(s["tpot_ms"], "mean")), spread_text(s, "tpot_ms"));
  row("limit", format_ms(number_at(s, "bound_tpot_ms")),
      "of a decode step of the mean batch: every kernel at its physical bound (derived)");
  if (is_disaggregated(s))
    row("prefill", format_percent(100 * number_at(s["prefill"], "busy")),
        fmt::format("of the time computing prompts; a prompt's cache takes {} to a decode worker",
                    format_ms(number_at(s["prefill"], "transfer_ms"))));
  const auto rate = [](double value) { return format_rate(value, "tokens"); };
  const auto range = [&](const char* name, auto format) { return bracketed(range_text(s, name, format)); };
  row("output", rate(number_at(s, "output_tokens_per_s")),
      fmt::format("{} per GPU{}, {} per user{}", rate(number_at(s, "tokens_per_s_per_gpu")),
                  range("tokens_per_s_per_gpu", whole), rate(number_at(s, "tokens_per_s_per_user")),
                  range("tokens_per_s_per_user", whole)));
  if (s.contains("usd_per_million") && s["usd_per_million"].is_number())
    row("cost", format_usd(number_at(s, "usd_per_million")),
        "per million output tokens, rented at the list price" + range("usd_per_million", format_usd));
  if (s.contains("joules_per_token") && s["joules_per_token"].is_number())
    row("energy", format_energy(number_at(s, "joules_per_token")),
        "per output token, GPUs at full power" + range("joules_per_token", format_energy));
  return table({}, rows, "lrl");
}

// "limits of H100 SXM5 80GB (cuda:0): bf16 812 TFLOP/s (measured, cuBLASLt), …"
std::string here_text(const Json& here) {
  std::string text;
  for (const Json& limit : here.value("limits", Json::array())) {
    const std::string what = text_at(limit, "what"), by = text_at(limit, "by");
    const double per_s = number_at(limit, "per_s");
    text += fmt::format("{} {} {} ({}{})", text.empty() ? "" : ",", what,
                        what == "DRAM" ? format_bandwidth(per_s) : format_flops_rate(per_s), text_at(limit, "origin"),
                        by.empty() ? "" : ", " + by);
  }
  return fmt::format("limits of {}:{}; kernels' laws hold as shares of them\n", text_at(here, "name"), text);
}

// Beside the list's columns: the share of the step.
std::string kernel_table(const Json& kernels) {
  OwnColumn share{"share", {}, "r2"};
  double all = 0;
  for (const Json& k : kernels) all += number_at(k, "ms");
  for (const Json& k : kernels) share.cells.push_back(format_percent(100 * number_at(k, "ms") / all));
  return figure_table(schema_of<llm::KernelRow>(), kernels, {}, {.last = {share}});
}

// Commands are fitted to the width; comments and the files of options that lines before write stay as they are.
std::string launch_text(const std::string& launch) {
  std::string text;
  for (size_t begin = 0; begin < launch.size();) {
    const size_t end = std::min(launch.find('\n', begin), launch.size());
    const std::string line = launch.substr(begin, end - begin);
    text += line.find(" --") == std::string::npos || line.starts_with('#') ? line + "\n"
                                                                           : fitted_command(line, 0, output_columns());
    begin = end + 1;
  }
  return text;
}

std::string ways_table(Json ways, size_t most) {
  if (ways.size() > most) ways.erase(ways.begin() + static_cast<int64_t>(most), ways.end());
  OwnColumn gpus{"GPUs", {}}, split{"split", {}}, goal;
  for (const Json& s : ways) {
    gpus.cells.push_back(fmt::format("{} x {}", s.value("gpus", 1), text_at(s, "gpu")));
    split.cells.push_back(split_of(s));
    goal.cells.emplace_back(s.value("meets", true) ? "" : "misses the goal");
  }
  OwnColumns own{{gpus, split}, {}};
  if (std::ranges::count(goal.cells, "") < std::ssize(goal.cells)) own.last = {goal};
  return figure_table("size-serving", "ways", ways, {}, own);
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
  text += fmt::format("prompts of {} to {} tokens, outputs of {} to {}; in brackets: 80 % of measured values\n",
                      prompt[0].get<int64_t>(), prompt[1].get<int64_t>(), output[0].get<int64_t>(),
                      output[1].get<int64_t>());
  const size_t head = text.size();
  if (document.value("by_gpu", Json::array()).size() + document.value("missing", Json::array()).size() > 1) {
    text += "\nbest way of each GPU\n" + ways_table(document["by_gpu"], document["by_gpu"].size());
    for (const Json& gpu : document.value("missing", Json::array()))
      text += note_text(fmt::format("{}: {}", text_at(gpu, "gpu"), text_at(gpu, "reason")));
  }
  if (document.value("by_concurrency", Json::array()).size() > 1)
    text += "\nby requests at once\n" + ways_table(document["by_concurrency"], 12);
  if (text.size() > head) text += '\n';
  text += summary(document);
  for (const Json& here : document.value("here", Json::array())) text += here_text(here);
  for (const Json& note : document.value("notes", Json::array())) text += note_text(note.get<std::string>());
  if (!document.value("met", true))
    text += note_text("no way that was tried meets the goals at the slow end of the expected range");
  text += "\na decode step of the mean batch\n" + kernel_table(s["decode_step"]);
  text += "\n" + text_at(s, "advice") + "\n" + launch_text(text_at(s, "launch"));
  for (const Json& note : s.value("launch_notes", Json::array())) text += note_text(note.get<std::string>());
  if (document.value("searched", size_t{1}) < 2) return text;
  text += fmt::format("\nbest of {} ways\n", document.value("searched", size_t{0})) + ways_table(document["ways"], 10);
  return text + "\nno other way is better in both rates\n" + ways_table(document["front"], 12);
}

}  // namespace ridge::cli
