// Shows kept results again: each verb that keeps documents (-o) reads its own back. Used by `ridge show`.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace ridge::cli {

// Prints a document as its verb did, without what to do next. Error: a member is missing or wrong.
Status show_bench(const Json& document);
Status show_bench_server(const Json& document);
Status show_bench_decoder(const Json& document);
Status show_bench_device(const Json& document);
Status show_doctor(const Json& document);
Status show_plan(const Json& document);
Status show_lab(const Json& document);
Result<Json> lab_schema(std::string_view kind);  // by ridge-lab: of "lab", "lab-list", "lab-occupancy"
Status show_power_sweep(const Json& document);
Status show_tune(const Json& document);
Status show_tune_language(const Json& document);

// Adds a document of `bench` or `tune` to the history of its machine. A failure is a warning.
void remember(const Json& document);

}  // namespace ridge::cli
