// The end of a verb's text: what to do next, as lines that can be pasted.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/reader.h"

namespace CLI {
class App;
}

namespace ridge::cli {

// Prints to stdout, after an empty line; nothing without lines, or with --quiet.
void print_next(const std::vector<std::string>& lines, std::string_view heading = "next:");
// Lines that repeat the measurement of `line` and, if it is `comparable`, compare the two documents.
std::vector<std::string> again_lines(const std::string& line, const std::string& file, bool comparable);
// "m.onnx --shape sequence=128 --device cuda:0": a model as it was given to a verb. `device` may be empty.
std::string model_words(const std::string& model, const std::vector<std::string>& shapes, const std::string& device);

// The options that were given, each after a space: " --batch 8 --shape sequence=512".
// Only options among `names`, for a line of another verb.
std::string given_options(const CLI::App& app, std::span<const std::string_view> names);
// All but those of `names`, the outputs and what the output looks like, for a line of the same verb.
std::string given_options_but(const CLI::App& app, std::span<const std::string_view> names);
// " --engine openvino --precision bf16": the engine is left out if it is `engine`, the file's. "": no engine computes a
// CPU's FP32 model in that precision.
std::string bench_precision(const std::string& precision, const std::string& engine);
// " --precision int8"; "": tune has no such variant.
std::string tune_precision(const std::string& precision);
// "ridge tune m.onnx --threads 2 -o models". `words`: the model and options for tune; `binding`: the verb's before.
std::string tune_line(const std::string& words, const model::Binding& binding);

}  // namespace ridge::cli
