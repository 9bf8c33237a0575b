// allreduce, reduce and reduce_scatter: every type and operation, odd sizes, in place or not, misaligned buffers.
#include "harness.hpp"
#include "reference.hpp"

namespace suite {
namespace {

using godwit::Collective;
using godwit::CollectiveCall;
using godwit::ReduceOp;

constexpr ReduceOp operations[] = {godwit::sum, godwit::prod, godwit::min, godwit::max, godwit::avg};

/// Elements of T in guarded memory, one element off the usual alignment.
template <class T>
class Elements {
 public:
  explicit Elements(std::size_t count) : bytes_(count * sizeof(T), sizeof(T)) {}
  T* data() { return reinterpret_cast<T*>(bytes_.data().data()); }
  T& operator[](std::size_t index) { return data()[index]; }
  bool intact() const { return bytes_.intact(); }

 private:
  Guarded bytes_;
};

/// One call of one collective on this rank, and what it must leave. `length` is that of the whole vector.
template <class T>
class Reduction {
 public:
  Reduction(Collective collective, std::size_t count, ReduceOp op, bool in_place, int root)
      : op_(op),
        in_place_(in_place),
        length_(collective == Collective::reduce_scatter ? count * static_cast<std::size_t>(size()) : count),
        first_(collective == Collective::reduce_scatter ? count * static_cast<std::size_t>(rank()) : 0),
        members_(collective == Collective::scan     ? rank() + 1
                 : collective == Collective::exscan ? rank()
                                                    : size()),
        has_result_(members_ > 0 && (collective != Collective::reduce || rank() == root)),
        in_(length_),
        out_(count) {
    for (std::size_t i = 0; i < length_; ++i) in_[i] = from_double<T>(input_value<T>(rank(), i, op));
    call = {.collective = collective,
            .send = in_.data(),
            .recv = in_place ? in_.data() + first_ : out_.data(),
            .count = count,
            .type = godwit::data_type_of<T>::value,
            .op = op,
            .root = root};
    if (!has_result_ && !in_place) call.recv = nullptr;
  }

  CollectiveCall call;

  void check() {
    EXPECT_TRUE(in_.intact() && out_.intact()) << describe();
    if (has_result_) {
      for (std::size_t i = 0; i < call.count; ++i) {
        const T got = in_place_ ? in_[first_ + i] : out_[i];
        const double expected = reduced_value<T>(members_, first_ + i, op_);
        ASSERT_TRUE(is_right(got, expected, op_)) << describe() << ", element " << i << ": " << to_double(got)
                                                  << ", expected " << to_double(from_double<T>(expected));
      }
    }
    if (!in_place_) {  // the input must not be written
      for (std::size_t i = 0; i < length_; ++i)
        ASSERT_EQ(to_double(in_[i]), input_value<T>(rank(), i, op_)) << describe() << ", input " << i;
    }
  }

 private:
  std::string describe() const {
    return std::string(to_string(call.collective)) + " of " + std::to_string(call.count) + " " +
           std::string(to_string(call.type)) + ", " + std::string(to_string(op_)) + (in_place_ ? ", in place" : "");
  }

  ReduceOp op_;
  bool in_place_;
  std::size_t length_, first_;
  int members_;  // ranks that go in, from 0 on
  bool has_result_;
  Elements<T> in_, out_;
};

template <class T>
class Reductions : public testing::Test {
 protected:
  static void run(std::size_t count, ReduceOp op) {
    for (const auto kind : {Collective::allreduce, Collective::reduce, Collective::reduce_scatter, Collective::scan,
                            Collective::exscan}) {
      if (op == godwit::avg && !godwit::has_average(kind)) continue;
      for (const bool in_place : {false, true}) {
        Reduction<T> reduction(kind, count, op, in_place, static_cast<int>(count) % size());
        world().collective(reduction.call);
        reduction.check();
        if (testing::Test::HasFailure()) return;
      }
    }
  }
};

using Types = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                             std::int64_t, std::uint64_t, godwit::half, godwit::bfloat16, float, double>;
TYPED_TEST_SUITE(Reductions, Types);

TYPED_TEST(Reductions, EveryOperationAtOddSizes) {
  for (const ReduceOp op : operations)
    for (const std::size_t count : {0, 1, 3, 15, 16, 17, 4095, 4096, 4097}) this->run(count, op);
}

TYPED_TEST(Reductions, LargeVector) { this->run(sanitized ? 20001 : (1 << 18) + 1, godwit::sum); }

TEST(LargeReductions, AMillionElements) {
  for (const bool in_place : {false, true}) {
    Reduction<float> reduction(Collective::allreduce, sanitized ? 100001 : (1 << 20) + 1, godwit::sum, in_place, 0);
    world().collective(reduction.call);
    reduction.check();
  }
}

TEST(LargeReductions, SameBitsOnEveryRank) {
  const std::vector<float> values{1e8F, 1.0F, -1e8F, 3.0F, 0.1F, -7e7F, 0.7F, 7e7F};
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{300000}}) {
    std::vector<float> data(count), all(count * static_cast<std::size_t>(size()));
    for (std::size_t i = 0; i < count; ++i) data[i] = values[(static_cast<std::size_t>(rank()) + i) % values.size()];
    world().allreduce(data, godwit::sum);
    world().allgather(data, all);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], data[i % count]) << "rank " << i / count;
  }
}

}  // namespace
}  // namespace suite
