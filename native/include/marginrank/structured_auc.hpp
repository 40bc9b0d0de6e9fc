// Structured AUC over all grades: Delta is the share of pairs in wrong order, phi the averaged differences.
//
// A pair goes into wrong order as soon as that gains, so the loss of a query is the mean over its pairs of
// max(0, 1 - 2 (s_high - s_low)): the pairwise hinge at twice the scores, counted by the same kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "marginrank/pair_labels.hpp"
#include "marginrank/pair_loss.hpp"
#include "marginrank/structured_loss.hpp"

namespace marginrank {

class StructuredAuc : public StructuredLoss {
public:
    // labels must be without weights.
    StructuredAuc(std::unique_ptr<const PairLabels> labels, std::vector<double> scale)
        : StructuredLoss(labels->query_ptr(), std::move(scale)),
          labels_(std::move(labels)),
          pairs_(*labels_, per_pair(labels_->n_pairs()).data(), false) {}

    std::unique_ptr<QueryScratch> make_scratch() const override { return std::make_unique<Scratch>(); }

protected:
    double evaluate_query(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                          QueryScratch& scratch) const override {
        auto& own = static_cast<Scratch&>(scratch);
        const std::int64_t n = rows(q);
        own.doubled.resize(static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i) own.doubled[static_cast<std::size_t>(i)] = 2.0 * scores[i];
        const double value = pairs_.evaluate_rows(crew, q, own.doubled.data(), gradient, own.pairs);
        for (std::int64_t i = 0; i < n; ++i) gradient[i] *= 2.0 * factor;
        return value;
    }

private:
    struct Scratch : QueryScratch {
        PairScratch pairs;
        std::vector<double> doubled;
    };

    static std::vector<double> per_pair(const std::vector<std::int64_t>& n_pairs) {
        std::vector<double> out(n_pairs.size(), 0.0);
        for (std::size_t q = 0; q < out.size(); ++q)
            if (n_pairs[q] > 0) out[q] = 1.0 / static_cast<double>(n_pairs[q]);
        return out;
    }

    std::unique_ptr<const PairLabels> labels_;
    PairLoss pairs_;
};

}  // namespace marginrank
