#include "tokenroof/physics/textbook_step.hpp"

#include "oracle.hpp"
#include "properties.hpp"
#include "textbook_fixtures.hpp"
#include "tokenroof/physics/experts.hpp"

using namespace tokenroof;
using namespace tokenroof::test;

TEST_CASE("700 GB at 3 TB/s", "[textbook_step]") {
  const auto read = [](double bandwidth) {
    TextbookModel<> model;
    model.weights_read = 700 * gigabyte;
    TextbookMachine<> machine = h100s(1);
    machine.weight_bandwidth = bandwidth * terabyte / second;
    return textbook_step(model, machine, request, TokensPerRequest{}).time();
  };
  CHECK(read(3) / second == closed_form("s4.article.700GB_3TBs"));
  CHECK(replica_rate(request, read(3)).base() == closed_form("s4.article.tps"));
  CHECK(read(3.35) / second == closed_form("s4.article.700GB_3.35TBs"));
}

TEST_CASE("the scaling book's quiz: 30e9 int8 weights on 16 devices", "[textbook_step]") {
  TextbookModel<> model;
  model.weights_read = 30 * gigabyte;
  model.linear = 30e9 * flops_per_weight;
  model.kv = 100 * kilobyte / token;
  const auto machine = TextbookMachine<>::of(
      16, 197.0 * teraflop / second, 0.81 * terabyte / second, Seconds{}, gigabyte / second);
  const auto time = [&](double batch) {
    return textbook_step(model, machine, batch * request, TokensPerRequest::from_base(8192)).time();
  };
  CHECK(time(4) / second == closed_form("s4.sb.B4"));
  CHECK(time(256) / second == closed_form("s4.sb.B256"));
}

TEST_CASE("Llama 70B on eight H100", "[textbook_step]") {
  const TextbookStep<> one = step_70b(8, 1, 4096);
  CHECK(one.weight_reads / second == closed_form("s4.L70.B1.S4096.tmw"));
  CHECK(one.kv_reads / second == closed_form("s4.L70.B1.S4096.tmk"));
  CHECK(one.communication / second == closed_form("s4.L70.B1.S4096.tar"));
  CHECK(one.time() / second == closed_form("s4.L70.B1.S4096.sumops"));
  CHECK(replica_rate(request, one.time()).base() == closed_form("s4.L70.B1.S4096.tps_user"));

  const TextbookStep<> many = step_70b(8, 64, 4096);
  CHECK(many.kv_reads / second == closed_form("s4.L70.B64.S4096.tmk"));
  CHECK(many.linear_math / second == closed_form("s4.L70.B64.S4096.tcl"));
  CHECK(many.attention_math / second == closed_form("s4.L70.B64.S4096.tca"));
  CHECK(many.communication / second == closed_form("s4.L70.B64.S4096.tar"));
  CHECK(many.time() / second == closed_form("s4.L70.B64.S4096.sumops"));
  CHECK(replica_rate(request, many.time()).base() == closed_form("s4.L70.B64.S4096.tps_user"));
  CHECK(replica_rate(64 * request, many.time()).base() == closed_form("s4.L70.B64.S4096.tps_tot"));

  const TextbookStep<> large = step_70b(8, 512, 1024);
  CHECK(large.weight_reads / second == closed_form("s4.L70.B512.S1024.tmw"));
  CHECK(large.kv_reads / second == closed_form("s4.L70.B512.S1024.tmk"));
  CHECK(large.linear_math / second == closed_form("s4.L70.B512.S1024.tcl"));
  CHECK(large.communication / second == closed_form("s4.L70.B512.S1024.tar"));
  CHECK(large.time() / second == closed_form("s4.L70.B512.S1024.sumops"));
  CHECK(large.whole_step_maximum() / second == closed_form("s4.L70.B512.S1024.maxall"));
}

TEST_CASE("verification of drafts reads the cache once", "[textbook_step]") {
  const auto time = [](double batch, double context, double each) {
    return textbook_step(textbook(llama_70b), h100s(8), batch * request,
                         TokensPerRequest::from_base(context), each * token / request);
  };
  const TextbookStep<> plain = time(64, 4096, 1), five = time(64, 4096, 5);
  CHECK(five.kv_reads == plain.kv_reads);
  CHECK(five.weight_reads == plain.weight_reads);
  CHECK(five.linear_math / plain.linear_math == Approx(5));
  CHECK(five.attention_math / plain.attention_math == Approx(5));
}

TEST_CASE("the step at its edges", "[textbook_step]") {
  CHECK(step_70b(8, 0, 4096).time() == Seconds{});
  CHECK(replica_rate(Requests{}, second) == TokensPerSecond{});
  CHECK(step_70b(8, 1, 0).kv_reads == Seconds{});
  CHECK(step_70b(1, 1, 0).communication == Seconds{});
}

TEST_CASE("properties P4 of the step", "[textbook_step]") {
  property("P4.3, P4.4, P4.5", [] {
    const double batch = of_any_size(1, 2000), context = of_any_size(1, 1e5);
    const double more = between(1, 3);
    const TextbookStep<> step = step_70b(8, batch, context);
    const double time = step.time() / second;
    RC_ASSERT(at_most(time, step_70b(8, batch * more, context).time() / second));
    RC_ASSERT(at_most(time, step_70b(8, batch, context * more).time() / second));
    RC_ASSERT(at_most(step_70b(8, batch * more, context).time() / second / more, time));
    RC_ASSERT(at_most(step.whole_step_maximum() / second, time));
    RC_ASSERT(at_most(time, step.sum() / second));
    const bool alike =
        (step.weight_reads >= step.linear_math) == (step.kv_reads >= step.attention_math);
    RC_ASSERT(!alike || near(step.whole_step_maximum() / second, time));
    const double rate = replica_rate(batch * request, step.time()).base();
    const double bandwidth = 8 * h100.bandwidth;
    RC_ASSERT(at_most(rate, batch * bandwidth / (2 * llama_70b.multiplied)));
    RC_ASSERT(at_most(rate, bandwidth / (llama_70b.kv_bytes * context)));
  });
  property("P4.3 for experts: time per sequence falls with the batch", [] {
    const auto time = [](double batch) {
      TextbookModel<> model = textbook(deepseek_v3);
      model.weights_read = mixture_weights_read(deepseek_always * byte, 58 * deepseek_expert * byte,
                                                distinct_experts(256, 8, batch * token));
      return textbook_step(model, h100s(8), batch * request, TokensPerRequest::from_base(4096))
                 .time() /
             second;
    };
    const double batch = of_any_size(1, 5000), more = between(1, 3);
    RC_ASSERT(at_most(time(batch * more) / more, time(batch)));
  });
  property("P4.6 device seconds do not depend on the devices without communication", [] {
    const int n = whole(1, 64);
    const auto work = [](int devices) {
      const TextbookStep<> step = step_70b(devices, 64, 4096);
      return devices * (step.time() - step.communication) / second;
    };
    RC_ASSERT(near(work(n), work(1)));
  });
  property("differentiates in batch and bandwidth", [] {
    const auto time = [](auto batch, auto bandwidth) {
      using S = decltype(batch);
      const TextbookModel<> m = textbook(llama_70b);
      const TextbookModel<S> model{m.weights_read, m.linear, m.attention, m.kv, 160, m.message};
      const auto machine = TextbookMachine<S>::of(8, h100.bf16_roof().math,
                                                  With<BytesPerSecond, S>::from_base(bandwidth),
                                                  6 * microsecond, 450.0 * gigabyte / second);
      return textbook_step(model, machine, With<Requests, S>::from_base(batch),
                           With<TokensPerRequest, S>(TokensPerRequest::from_base(4096)))
          .time()
          .base();
    };
    RC_ASSERT(
        differentiates([&](auto b) { return time(b, decltype(b)(3.35e12)); }, of_any_size(1, 250)));
    RC_ASSERT(differentiates([&](auto bw) { return time(decltype(bw)(64.0), bw); }, 3.35e12));
  });
}
