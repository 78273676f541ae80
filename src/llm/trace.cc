#include "llm/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/csv.h"
#include "base/file.h"

namespace ridge::llm {

Result<std::vector<Request>> read_trace(const std::string& path) {
  RIDGE_ASSIGN(const std::string text, read_file(path));
  RIDGE_ASSIGN(const Csv csv, parse_csv(text, path));
  const int at = csv.column("seconds"), prompt = csv.column("prompt"), output = csv.column("output");
  if (at < 0 || prompt < 0 || output < 0)
    return invalid(path + ": a trace is a table with the columns seconds, prompt and output");
  std::vector<Request> requests;
  for (const auto& row : csv.rows) {
    const auto number = [&](int column) { return std::strtod(row[static_cast<size_t>(column)].c_str(), nullptr); };
    Request r{.sent_s = number(at),
              .prompt = static_cast<int64_t>(number(prompt)),
              .output = static_cast<int64_t>(number(output))};
    if (r.sent_s < 0 || r.prompt < 1 || r.output < 1 || (!requests.empty() && r.sent_s < requests.back().sent_s))
      return invalid(fmt::format("{}: row {}: seconds do not decrease, prompt and output are at least 1", path,
                                 requests.size() + 2));
    requests.push_back(r);
  }
  if (requests.empty()) return invalid(path + ": no requests");
  return requests;
}

Lengths lengths_of(const std::vector<Request>& trace) {
  const auto [short_prompt, long_prompt] = std::ranges::minmax(trace, {}, &Request::prompt);
  const auto [short_output, long_output] = std::ranges::minmax(trace, {}, &Request::output);
  return {.prompt_min = short_prompt.prompt,
          .prompt_max = long_prompt.prompt,
          .output_min = short_output.output,
          .output_max = long_output.output};
}

}  // namespace ridge::llm
