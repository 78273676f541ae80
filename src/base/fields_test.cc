#include "base/fields.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace ridge {
// In a named namespace, where a list is found by its argument.
namespace fields_test {

struct Wheel {
  double radius_m = 0;
  int spokes = 12;
};
void visit_fields(auto& visit, Is<Wheel> auto& wheel) {
  visit("radius_m", wheel.radius_m, above(0));
  visit.optional("spokes", wheel.spokes, at_least(0));
}

// Written as a text, as another type may be.
struct Serial {
  std::string digits;
};
Json to_json(const Serial& serial) { return "no. " + serial.digits; }
Status read_json(const Json& json, Serial& serial) {
  if (!json.is_string() || !json.get<std::string>().starts_with("no. ")) return invalid("expected 'no. ' and digits");
  serial.digits = json.get<std::string>().substr(4);
  return {};
}

struct Owner {
  std::string name = "unknown";
};
Json to_json(const Owner& owner) { return owner.name; }
Status read_json(const Json& json, Owner& owner) {
  owner.name = json.get<std::string>();
  return {};
}
void set_absent(Owner& owner) { owner.name = "not recorded"; }

enum class Gear { kLow, kHigh };
constexpr std::array<std::pair<Gear, std::string_view>, 2> kGears = {{{Gear::kLow, "low"}, {Gear::kHigh, "high"}}};
const auto& names_of(Gear) { return kGears; }

struct Bicycle {
  std::string name;
  bool lit = false;
  std::optional<double> price_usd;
  Gear gear = Gear::kLow;
  std::vector<Wheel> wheels;
  std::map<std::string, std::vector<int64_t>> marks;
  Serial serial;
  Owner owner;
  std::string note;
  double weight_kg = 0;
  uint8_t year = 0;
};
void visit_fields(auto& visit, Is<Bicycle> auto& bicycle) {
  visit("name", bicycle.name);
  visit.optional("lit", bicycle.lit);
  visit("price_usd", bicycle.price_usd);
  visit.optional("gear", bicycle.gear);
  visit("wheels", bicycle.wheels);
  visit.derived("wheel_count", bicycle.wheels.size());
  visit.optional("marks", bicycle.marks, at_least(0));
  visit.optional("serial", bicycle.serial);
  visit("owner", bicycle.owner);
  visit.unless_empty("note", bicycle.note);
  visit.object("built", [&](auto& built) {
    built.or_null("weight_kg", bicycle.weight_kg);
    built.optional("year", bicycle.year);
  });
}

Bicycle some_bicycle() {
  return {.name = "roadster",
          .lit = true,
          .price_usd = 250.5,
          .gear = Gear::kHigh,
          .wheels = {{0.33, 32}, {0.35, 36}},
          .marks = {{"b", {1, 2}}, {"a", {}}},
          .serial = {"77"},
          .owner = {"Ada"},
          .note = "",
          .weight_kg = 14,
          .year = 98};
}

constexpr const char* kWritten =
    R"({"name":"roadster","lit":true,"price_usd":250.5,"gear":"high",)"
    R"("wheels":[{"radius_m":0.33,"spokes":32},{"radius_m":0.35,"spokes":36}],"wheel_count":2,)"
    R"("marks":{"a":[],"b":[1,2]},"serial":"no. 77","owner":"Ada","built":{"weight_kg":14.0,"year":98}})";

// The error of reading the bicycle with `change` at the JSON pointer `where`.
std::string complaint(const std::string& where, const Json& change) {
  Json json = json_of(some_bicycle());
  json[Json::json_pointer(where)] = change;
  const Result<Bicycle> read = from_json<Bicycle>(json);
  return read ? "none" : read.error().message;
}

bool names(const std::string& message, const std::string& path) {
  return message.find("'" + path + "'") != std::string::npos;
}

TEST(Fields, AreWrittenInTheOrderOfTheirList) { EXPECT_EQ(dump_json(json_of(some_bicycle())), kWritten); }

TEST(Fields, AreReadBackAsTheyWereWritten) {
  const Result<Bicycle> back = from_json<Bicycle>(*parse_json(kWritten, "test"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(dump_json(json_of(*back)), kWritten);
  EXPECT_EQ(back->gear, Gear::kHigh);
  EXPECT_EQ(back->wheels[1].spokes, 36);
}

TEST(Fields, WithoutAValueAreNullOrLeftOut) {
  const Json json = json_of(Bicycle{});
  EXPECT_TRUE(json.at("price_usd").is_null());
  EXPECT_TRUE(json.at("built").at("weight_kg").is_null());
  EXPECT_FALSE(json.contains("note"));
  EXPECT_EQ(json.at("wheels"), Json::array());
  EXPECT_EQ(json.at("marks"), Json::object());
}

TEST(Fields, ThatMayBeAbsentKeepTheirDefaults) {
  const Result<Bicycle> read =
      from_json<Bicycle>({{"name", "bare"}, {"wheels", {{{"radius_m", 1}}}}, {"lit", nullptr}});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->wheels[0].spokes, 12);
  EXPECT_FALSE(read->price_usd);
  EXPECT_FALSE(read->lit);
  EXPECT_EQ(read->year, 0);
  EXPECT_EQ(read->owner.name, "not recorded");
}

TEST(Fields, UnknownMembersArePassedOver) { EXPECT_EQ(complaint("/bell", "brass"), "none"); }

TEST(Fields, ThatAreMissingAreNamedWithTheirPath) {
  Json json = json_of(some_bicycle());
  json["wheels"][1].erase("radius_m");
  const Result<Bicycle> read = from_json<Bicycle>(json);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalid);
  EXPECT_TRUE(names(read.error().message, "wheels[1].radius_m")) << read.error().message;
}

TEST(Fields, OfAnotherTypeAreNamedWithTheirPath) {
  EXPECT_TRUE(names(complaint("/name", 7), "name"));
  EXPECT_TRUE(names(complaint("/lit", 1), "lit"));
  EXPECT_TRUE(names(complaint("/price_usd", "much"), "price_usd"));
  EXPECT_TRUE(names(complaint("/wheels", 2), "wheels"));
  EXPECT_TRUE(names(complaint("/wheels/0", 2), "wheels[0]"));
  EXPECT_TRUE(names(complaint("/wheels/0/spokes", 1.5), "wheels[0].spokes"));
  EXPECT_TRUE(names(complaint("/marks", Json::array()), "marks"));
  EXPECT_TRUE(names(complaint("/marks/b/1", "x"), "marks.b[1]"));
  EXPECT_TRUE(names(complaint("/serial", 77), "serial"));
  EXPECT_TRUE(names(complaint("/built", 3), "built"));
}

TEST(Fields, OutOfRangeAreRefused) {
  EXPECT_TRUE(names(complaint("/wheels/0/radius_m", 0), "wheels[0].radius_m"));
  EXPECT_EQ(complaint("/wheels/0/spokes", 0), "none");
  EXPECT_TRUE(names(complaint("/wheels/0/spokes", -1), "wheels[0].spokes"));
  EXPECT_TRUE(names(complaint("/wheels/0/spokes", int64_t{1} << 40), "wheels[0].spokes"));
  EXPECT_TRUE(names(complaint("/marks/b/0", -1), "marks.b[0]"));
  EXPECT_TRUE(names(complaint("/built/year", 256), "built.year"));
}

TEST(Fields, OfAnEnumerationHaveOneOfItsNames) {
  const std::string message = complaint("/gear", "reverse");
  EXPECT_TRUE(names(message, "gear"));
  EXPECT_NE(message.find("low, high"), std::string::npos);
  EXPECT_TRUE(names(complaint("/gear", 1), "gear"));
}

TEST(Fields, AreMembersOfAnObject) {
  EXPECT_FALSE(from_json<Bicycle>(Json::array()));
  EXPECT_FALSE(from_json<Bicycle>(3));
}

struct Light {
  bool electric = false;
  double watts = 0;
};
void visit_fields(auto& visit, Is<Light> auto& light) {
  visit("electric", light.electric);
  visit.when(light.electric, [&](auto& then) { then("watts", light.watts); });
}

TEST(Fields, AreThereWhereOthersSaySo) {
  EXPECT_EQ(dump_json(json_of(Light{false, 3})), R"({"electric":false})");
  EXPECT_EQ(dump_json(json_of(Light{true, 3})), R"({"electric":true,"watts":3.0})");
  EXPECT_TRUE(from_json<Light>({{"electric", false}}));
  EXPECT_EQ(from_json<Light>({{"electric", true}, {"watts", 2}})->watts, 2);
  const Result<Light> dark = from_json<Light>({{"electric", true}});
  ASSERT_FALSE(dark);
  EXPECT_TRUE(names(dark.error().message, "watts"));
}

TEST(Fields, OnlyTheFirstErrorIsTold) {
  Json json = json_of(some_bicycle());
  json["name"] = 7;
  json["wheels"] = 2;
  EXPECT_TRUE(names(from_json<Bicycle>(json).error().message, "name"));
}

}  // namespace fields_test
}  // namespace ridge
