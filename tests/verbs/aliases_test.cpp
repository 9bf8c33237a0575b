#include "verbs/aliases.hpp"

#include "verbs/options.hpp"

#include <godwit/error.hpp>

#include <gtest/gtest.h>

namespace godwit::verbs {
namespace {

struct Aliases : testing::Test {
  Aliases() {
    set.add<VerbsOptions>();
    add_nccl_aliases(set);
  }
  const VerbsOptions& options() const { return set.get<VerbsOptions>(); }
  core::OptionSet set;
};

TEST_F(Aliases, ScriptsForNcclWork) {
  const auto notes = set.load({{"NCCL_IB_DISABLE", "1"},
                               {"NCCL_IB_GID_INDEX", "3"},
                               {"NCCL_IB_HCA", "^mlx5_1,mlx5_2:1"},
                               {"NCCL_IB_PKEY", "2"},
                               {"NCCL_IB_RETRY_CNT", "7"},
                               {"NCCL_IB_SL", "5"},
                               {"NCCL_IB_TC", "0x6a"},
                               {"NCCL_IB_TIMEOUT", "22"}},
                              {});
  EXPECT_TRUE(*options().disable);
  EXPECT_EQ(*options().gid_index, 3);
  EXPECT_EQ(*options().hca, "^mlx5_1*,mlx5_2*:1");
  EXPECT_EQ(*options().pkey, 2);
  EXPECT_EQ(*options().retry_count, 7);
  EXPECT_EQ(*options().service_level, 5);
  EXPECT_EQ(*options().traffic_class, 106);
  EXPECT_EQ(*options().timeout, 22);
  ASSERT_EQ(notes.size(), 8U);
  EXPECT_EQ(notes[1].text, "NCCL_IB_HCA=^mlx5_1,mlx5_2:1 is taken as GODWIT_IB_HCA=^mlx5_1*,mlx5_2*:1");
  for (const core::OptionNote& note : notes) EXPECT_FALSE(note.warning);
}

TEST_F(Aliases, OwnVariableIsStronger) {
  set.load({{"GODWIT_IB_HCA", "mlx5_3"}, {"NCCL_IB_HCA", "mlx5_1"}, {"NCCL_IB_DISABLE", "0"}}, {});
  EXPECT_EQ(*options().hca, "mlx5_3");
  EXPECT_FALSE(*options().disable);
}

TEST_F(Aliases, BadNumbersNameTheVariable) {
  for (const char* text : {"x", "3x", "0x", "99999999999999999999", "-2"}) try {
      set.load({{"NCCL_IB_GID_INDEX", text}}, {});
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_TRUE(std::string(error.what()).starts_with(std::string("NCCL_IB_GID_INDEX=") + text)) << error.what();
    }
}

}  // namespace
}  // namespace godwit::verbs
