// ridge make NAME -o FILE: writes a reference model with seeded random weights; a language model as a folder.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/next_steps.h"
#include "base/proc_text.h"
#include "base/units.h"
#include "cli/next_text.h"
#include "cli/terminal.h"
#include "zoo/zoo.h"

namespace ridge::cli {
namespace {

constexpr const char* kMakeVerb = "make";

struct MakeOptions {
  app::Command command;
  std::string name;
  std::string file;
  std::string batch = "dynamic";
  std::string type = "FP32";
  bool describe = false;
  bool json = false;
  zoo::ZooOptions zoo;
};

void bind(CLI::App& app, MakeOptions& options) {
  app.add_option("NAME", options.name)->required();
  app.add_option("-o,--output", options.file);
  app.add_option("--seed", options.zoo.seed);
  app.add_option("--batch", options.batch);
  app.add_option("--sequence", options.zoo.sequence);
  app.add_option("--image-size", options.zoo.image_size);
  app.add_option("--channels", options.zoo.channels);
  app.add_option("--type", options.type);
  app.add_option("--opset", options.zoo.opset);
  app.add_flag("--describe", options.describe);
  app.add_flag("--json", options.json);
}

Status complete(MakeOptions& options) {
  if (options.file.empty() && !options.describe)
    return Error{Code::kInvalid, "-o FILE is required (or --describe, which writes nothing)"};
  if (options.batch != "dynamic") {
    options.zoo.batch = to_number(options.batch);
    if (!options.zoo.batch)
      return Error{Code::kInvalid, "--batch " + options.batch + ": expected a number or 'dynamic'"};
  }
  options.zoo.type = data_type_from_name(options.type == "STRING" ? "BYTES" : options.type);
  if (options.zoo.type == DataType::kInvalid)
    return Error{Code::kInvalid, "--type " + options.type +
                                     ": expected BOOL, UINT8 … UINT64, INT8 … INT64, FP16, FP32, "
                                     "FP64, BF16 or BYTES"};
  return {};
}

std::string ports_text(const std::vector<zoo::ZooPort>& ports) {
  std::string text;
  for (const zoo::ZooPort& port : ports)
    text += (text.empty() ? "" : ", ") + port.name + " " + std::string(data_type_name(port.type)) + " " + port.shape;
  return text;
}

void show_made(const MakeOptions& options, const zoo::ZooDescription& made) {
  if (options.json) return print_json(options.command, json_of(made));
  std::string where =
      options.describe ? "" : options.file + (made.external_data ? " and " + options.file + ".data" : "");
  print(table({},
              {{"model", made.name},
               {"parameters", format_count(static_cast<double>(made.parameters))},
               {"weights", format_bytes(static_cast<double>(made.weight_bytes))},
               {"inputs", ports_text(made.inputs)},
               {"outputs", ports_text(made.outputs)},
               {"written to", where.empty() ? "nothing (--describe)" : where}},
              "ll"));
  const std::string file =
      app::shell_word(options.file.empty() ? options.name + (made.folder ? "" : ".onnx") : options.file);
  print_next({options.describe ? "ridge make " + options.name + " -o " + file
              : made.folder    ? "ridge bench " + file
                               : "ridge " + file});
}

}  // namespace

int make(std::span<const std::string> arguments) {
  MakeOptions options;
  options.command = typed(kMakeVerb, arguments);
  CLI::App app;
  bind(app, options);
  if (ParseResult parsed = parse(app, kMakeVerb, arguments); !parsed.go_on) return parsed.exit;
  Status complete_options = complete(options);
  if (!complete_options) return fail(kMakeVerb, complete_options.error()), kUsage;
  // A wrong name or option is reported before anything is written.
  Result<zoo::ZooDescription> described = zoo::describe(options.name, options.zoo);
  if (!described) return fail(kMakeVerb, described.error()), kUsage;
  described->seed = options.zoo.seed;
  if (!options.describe) {
    described->file = options.file;
    Progress progress(std::string("make ") + options.name);
    progress.update("write " + options.file, kUnknownShare);
    Result<zoo::ZooDescription> made = zoo::make(options.name, options.zoo, options.file);
    progress.finish();
    if (!made) return fail(kMakeVerb, made.error());
  }
  show_made(options, *described);
  return kDone;
}

}  // namespace ridge::cli
