#include "cli/next_text.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/next_steps.h"
#include "app/tune_request.h"
#include "cli/paragraph.h"
#include "cli/terminal.h"
#include "engine/engines.h"
#include "precision/variants.h"

namespace ridge::cli {
namespace {

constexpr std::string_view kOutputs[] = {"--output", "--html",  "--lang",  "--trace", "--json",
                                         "--csv",    "--quiet", "--color", "--help"};

// Shell words for an option: a value after each of its names.
std::string words_of(const CLI::Option& option, const std::string& name) {
  if (option.get_items_expected_max() == 0) return " " + name;  // a flag
  std::string words;
  for (const std::string& value : option.results()) words += " " + name + " " + app::shell_word(value);
  return words;
}

template <typename Wanted>
std::string options_that(const CLI::App& app, Wanted wanted) {
  std::string words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;  // not given, or the argument without a name
    const std::string name = "--" + option->get_lnames().front();
    if (wanted(name)) words += words_of(*option, name);
  }
  return words;
}

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

void print_next(const std::vector<std::string>& lines, std::string_view heading) {
  if (lines.empty() || is_quiet()) return;
  print("\n" + std::string(heading));
  for (const std::string& line : lines) print_verbatim(fitted_command(line, 2, output_columns()));
}

std::vector<std::string> again_lines(const std::string& line, const std::string& file, bool comparable) {
  const std::string again = file == "again.json" ? "now.json" : "again.json";
  std::vector<std::string> lines = {app::repeated(line, again)};
  if (comparable) lines.push_back("ridge compare " + app::shell_word(file) + " " + again);
  return lines;
}

std::string model_words(const std::string& model, const std::vector<std::string>& shapes, const std::string& device) {
  std::string text = app::shell_word(model);
  for (const std::string& shape : shapes) text += " --shape " + app::shell_word(shape);
  return device.empty() || device == "cpu" ? text : text + " --device " + app::shell_word(device);
}

std::string given_options(const CLI::App& app, std::span<const std::string_view> names) {
  return options_that(app, [&](const std::string& name) { return is_one_of(names, name); });
}

std::string given_options_but(const CLI::App& app, std::span<const std::string_view> names) {
  return options_that(app,
                      [&](const std::string& name) { return !is_one_of(names, name) && !is_one_of(kOutputs, name); });
}

std::string bench_precision(const std::string& precision, const std::string& engine) {
  const engine::Engine* own = &engine::named(engine);
  if (!own->takes_precision) own = &engine::first_that(&engine::Engine::takes_precision);
  const engine::Ability* ability = engine::ability_of(*own, precision, plan::DeviceKind::kCpu);
  if (ability == nullptr || ability->source != engine::Source::kGiven) return "";
  return (own->name == engine ? "" : fmt::format(" --engine {}", own->name)) + " --precision " + precision;
}

std::string tune_precision(const std::string& precision) {
  return precision::variant_kind(precision) ? " --precision " + precision : "";
}

std::string tune_line(const std::string& words, const model::Binding& binding) {
  // Rows that a shape gives are not searched; a batch above the usual limit is searched too.
  const int64_t usual = app::TuneRequest{}.max_batch, batch = binding.batch.value_or(1);
  std::string limit;
  if (app::gives_rows(binding))
    limit = " --max-batch 1";
  else if (batch > usual)
    limit = fmt::format(" --max-batch {}", batch);
  return "ridge tune " + words + limit + " -o models";
}

}  // namespace ridge::cli
