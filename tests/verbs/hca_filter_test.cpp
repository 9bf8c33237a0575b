#include "verbs/hca_filter.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

#include "tables.hpp"

namespace godwit::verbs {
namespace {

using tables::device;
using tables::infiniband;

const std::vector<DeviceFacts> twelve = [] {
  std::vector<DeviceFacts> devices;
  for (int i = 0; i < 12; ++i) devices.push_back(device("mlx5_" + std::to_string(i), {infiniband(), infiniband()}));
  return devices;
}();

std::string allowed(std::string_view text) {
  const HcaFilter filter(text, "GODWIT_IB_HCA");
  std::string names;
  for (const DeviceFacts& one : twelve)
    for (const PortFacts& port : one.ports)
      if (filter.allows(one.name, port.number))
        names += (names.empty() ? "" : " ") + one.name.substr(5) + ":" + std::to_string(port.number);
  return names;
}

template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}
std::string refused(std::string_view text) {
  return refusal([&] { HcaFilter(text, "GODWIT_IB_HCA").check(twelve); });
}

// nccl PR 236: mlx5_1 took mlx5_10 and mlx5_11 along.
TEST(HcaFilter, NamesAreExact) {
  EXPECT_EQ(allowed("mlx5_1"), "1:1 1:2");
  EXPECT_EQ(allowed("=mlx5_1"), "1:1 1:2");
  EXPECT_EQ(allowed("mlx5_10"), "10:1 10:2");
  EXPECT_EQ(allowed("mlx5"), "");
}

TEST(HcaFilter, ListsPortsAndPatterns) {
  EXPECT_EQ(allowed("mlx5_3,mlx5_11:2"), "3:1 3:2 11:2");
  EXPECT_EQ(allowed(",mlx5_3,,"), "3:1 3:2");
  EXPECT_EQ(allowed("mlx5_1*:1"), "1:1 10:1 11:1");
  EXPECT_EQ(allowed("mlx5_?:2").substr(0, 11), "0:2 1:2 2:2");
}

TEST(HcaFilter, ExcludesExactlyTheNamed) {
  EXPECT_EQ(allowed("^mlx5_1*,mlx5_2:2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_9"), "0:1 0:2 2:1");
  EXPECT_NE(allowed("^mlx5_1").find("10:1"), std::string::npos);
  EXPECT_EQ(allowed("^mlx5_1").find(" 1:1"), std::string::npos);
}

TEST(HcaFilter, EmptyAllowsAll) { EXPECT_EQ(allowed("").substr(0, 15), "0:1 0:2 1:1 1:2"); }

TEST(HcaFilter, NothingLeftIsAnErrorThatListsWhatThereIs) {
  const std::vector<DeviceFacts> two{device("mlx5_0", {infiniband()}), device("mlx5_10", {infiniband(), infiniband()})};
  EXPECT_EQ(refusal([&] { HcaFilter("mlx5_1", "GODWIT_IB_HCA").check(two); }),
            "GODWIT_IB_HCA=mlx5_1 matches nothing of what this host has: mlx5_0:1, mlx5_10:1, mlx5_10:2; names are "
            "exact, mlx5_1* is every name that begins so");
  EXPECT_EQ(refusal([&] { HcaFilter("^mlx5_*", "GODWIT_IB_HCA").check(two); }),
            "GODWIT_IB_HCA=^mlx5_* leaves nothing of what this host has: mlx5_0:1, mlx5_10:1, mlx5_10:2");
  EXPECT_EQ(refused("mlx5_1"), "accepted");
  EXPECT_NO_THROW(HcaFilter("mlx5_1", "GODWIT_IB_HCA").check({}));  // no adapter at all: nothing to choose from
}

TEST(HcaFilter, UnknownNamesAreNamed) {
  const std::vector<DeviceFacts> one{device("mlx5_0", {infiniband()})};
  EXPECT_EQ(HcaFilter("mlx5_0,mlx5_9,mlx5_0:2", "GODWIT_IB_HCA").check(one),
            (std::vector<std::string>{
                "GODWIT_IB_HCA=mlx5_0,mlx5_9,mlx5_0:2: there is no mlx5_9 on this host, which has: mlx5_0:1",
                "GODWIT_IB_HCA=mlx5_0,mlx5_9,mlx5_0:2: there is no mlx5_0:2 on this host, which has: mlx5_0:1"}));
  EXPECT_EQ(HcaFilter("^rxe0", "GODWIT_IB_HCA").check(one).size(), 1U);
  EXPECT_TRUE(HcaFilter("mlx5_0:1", "GODWIT_IB_HCA").check(one).empty());
}

TEST(HcaFilter, MalformedTextIsRefused) {
  EXPECT_EQ(refused("mlx5_0:x"),
            "GODWIT_IB_HCA=mlx5_0:x: `mlx5_0:x`: after the colon comes the number of a port, from 1, as in mlx5_0:1");
  for (const char* text : {"mlx5_0:", "mlx5_0:0", "mlx5_0:-1", "mlx5_0:1x"})
    EXPECT_NE(refused(text).find("number of a port"), std::string::npos) << text;
  for (const char* text : {":1", "mlx5_0,^mlx5_1", "==mlx5_1"})
    EXPECT_NE(refused(text).find("is no name of an adapter"), std::string::npos) << text;
  for (const char* text : {"^", ",", "="})
    EXPECT_NE(refused(text).find("it names no adapter"), std::string::npos) << text;
}

TEST(HcaFilter, NcclsValuesKeepTheirMeaning) {
  const std::pair<const char*, const char*> values[] = {{"mlx5_1", "mlx5_1*"},
                                                        {"=mlx5_1,mlx5_2:1", "mlx5_1,mlx5_2:1"},
                                                        {"mlx5_1:1,mlx4", "mlx5_1*:1,mlx4*"},
                                                        {"^mlx5_1,mlx5_3:2", "^mlx5_1*,mlx5_3*:2"},
                                                        {"^=mlx5_1", "^mlx5_1"},
                                                        {"", ""}};
  for (const auto& [theirs, ours] : values) EXPECT_EQ(hca_from_nccl(theirs), ours);
  EXPECT_EQ(allowed(hca_from_nccl("mlx5_1")), "1:1 1:2 10:1 10:2 11:1 11:2");
}

}  // namespace
}  // namespace godwit::verbs
