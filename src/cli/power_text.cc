#include "cli/power_text.h"

#include <fmt/format.h>

#include "cli/terminal.h"
#include "gpu/slowdown.h"
#include "power/packages.h"

namespace ridge::cli {
namespace {

using gpu::Card;
using Number = gpu::Reading<int64_t>;

std::string watts(const Number& milliwatts) { return milliwatts ? power::watts_text(*milliwatts) : "-"; }

std::string range_text(const Card& card) {
  if (!card.power_limit_min_mw || !card.power_limit_max_mw) return "-";
  return fmt::format("{:g} to {}", static_cast<double>(*card.power_limit_min_mw) / 1000,
                     watts(card.power_limit_max_mw));
}

// "345 of 1980 MHz"
std::string clock_text(const Number& now, const Number& most) {
  if (!now) return "-";
  return most ? fmt::format("{} of {} MHz", *now, *most) : fmt::format("{} MHz", *now);
}

std::string heat_text(const Card& card) {
  if (!card.temperature_c) return "-";
  return card.slowdown_temperature_c ? fmt::format("{} of {} °C", *card.temperature_c, *card.slowdown_temperature_c)
                                     : fmt::format("{} °C", *card.temperature_c);
}

std::string energy_text(const Number& millijoules) {
  if (!millijoules) return "-";
  const double joules = static_cast<double>(*millijoules) / 1000;
  return joules < 1e4 ? fmt::format("{:.0f} J", joules) : fmt::format("{:.3g} kWh", joules / 3.6e6);
}

std::string slowed_text(const Card& card) {
  if (!card.slowdown_bits) return "-";
  std::string text;
  for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(static_cast<uint64_t>(*card.slowdown_bits)))
    text += (text.empty() ? "" : ", ") + std::string(slowdown.name);
  return text.empty() ? "nothing" : text;
}

std::string card_name(const power::MakersCards& maker, const Card& card) {
  return fmt::format("{} {}", card.index, card.name ? *card.name : maker.maker + " (does not answer)");
}

std::vector<std::string> card_row(const power::MakersCards& maker, const Card& card) {
  return {card_name(maker, card),
          watts(card.power_mw),
          watts(card.power_limit_mw),
          watts(card.power_limit_default_mw),
          range_text(card),
          clock_text(card.sm_clock_mhz, card.sm_clock_max_mhz),
          clock_text(card.memory_clock_mhz, card.memory_clock_max_mhz),
          heat_text(card),
          energy_text(card.energy_mj),
          slowed_text(card)};
}

// What ridge holds on a device, or has left on it.
std::string record_text(const power::Record& record) {
  if (record.held)
    return fmt::format("held by process {}: {}; before: {}", record.process, power::settings_text(record.set),
                       power::before_text(record.before));
  return fmt::format(
      "process {} ended without restoring: it set {}, before: {}; `ridge power set --reset --device {}` undoes it",
      record.process, power::settings_text(record.set), power::before_text(record.before), record.before.id);
}

// What a reader must know beside the row: why it is slow, what ridge holds, what could not be had.
std::string card_notes(const power::MakersCards& maker, const Card& card, const power::Record* record) {
  std::string text;
  auto note = [&](const std::string& words) { text += fmt::format("{}: {}\n", card_name(maker, card), words); };
  if (!card.failure.empty()) note(card.failure);
  if (card.slowdown_bits)
    for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(static_cast<uint64_t>(*card.slowdown_bits)))
      if (slowdown.name != "idle") note(fmt::format("slowed by {}: {}", slowdown.name, slowdown.meaning));
  if (card.power_limit_mw && card.power_limit_set_mw && *card.power_limit_mw < *card.power_limit_set_mw)
    note(fmt::format("{} was set; something else limits it to {}", watts(card.power_limit_set_mw),
                     watts(card.power_limit_mw)));
  if (record) note(record_text(*record));
  if (card.failure.empty() && !card.power_mw) note("draw not told: " + card.power_mw.reason);
  if (card.failure.empty() && !card.power_limit_mw) note("limit not told: " + card.power_limit_mw.reason);
  return text;
}

std::string processor_line(const power::Overview& overview) {
  if (!overview.processor) return "processor: its power is not told: " + overview.processor.reason + "\n";
  const power::State& state = *overview.processor;
  std::string text = fmt::format("processor: draws {}", watts(state.power_mw));
  text += state.limit_mw ? fmt::format(", limit {}", watts(state.limit_mw)) : "";
  text += state.limit_max_mw ? fmt::format(", at most {}", watts(state.limit_max_mw)) : "";
  return text + " (RAPL, measured over 0.25 s; all packages with what else runs on them)\n";
}

}  // namespace

std::string power_text(const power::Overview& overview) {
  std::vector<std::vector<std::string>> rows;
  std::string notes, missing, libraries;
  for (const power::MakersCards& maker : overview.makers) {
    if (!maker.cards.empty()) libraries += (libraries.empty() ? "" : ", ") + maker.library;
    for (const Card& card : maker.cards) {
      rows.push_back(card_row(maker, card));
      notes += card_notes(maker, card, card.uuid ? power::record_of(overview, *card.uuid) : nullptr);
    }
    if (maker.cards.empty()) missing += fmt::format("{}: no card: {}\n", maker.maker, maker.reason);
  }
  std::string text;
  if (!rows.empty())
    text = table({"card", "draw", "limit", "default", "range", "clock", "memory clock", "heat", "energy", "slowed by"},
                 rows, "lrrrrrrrrl") +
           "told by " + libraries + ": draw, clocks, heat and energy measured by the card, limits as they are set\n";
  if (!notes.empty()) text += "\n" + notes;
  if (rows.empty()) text += missing;
  text += (text.empty() ? "" : "\n") + processor_line(overview);
  if (const power::Record* record = power::record_of(overview, power::kProcessorId))
    text += "processor: " + record_text(*record) + "\n";
  if (!overview.anything()) text += "\nNothing here tells what it draws.\n";
  return text;
}

}  // namespace ridge::cli
