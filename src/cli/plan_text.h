// A plan as text, and as CSV (RFC 4180). Rendering only.
#pragma once

#include <string>

#include "app/plan.h"

namespace ridge::cli {

std::string summary_text(const app::ModelPlan& plan);  // with the curve over batches, if there is one
// The answers to further questions, each part after an empty line.
std::string answers_text(const app::ModelPlan& plan);
// A table of at most `most` layers; empty for 0.
std::string layers_text(const app::ModelPlan& plan, int most);
std::string csv_text(const app::ModelPlan& plan);  // the curve if there is one, else the layers

std::string cost_text(const app::CostPlan& plan);
std::string memory_text(const app::ModelPlan& plan);
std::string training_text(const sizing::TrainingPlan& plan);

std::string llm_text(const app::LlmPlan& plan, bool reserve_given);
std::string llm_csv(const app::LlmPlan& plan);
std::string serving_text(const Json& document);

}  // namespace ridge::cli
