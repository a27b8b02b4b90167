"""BibTeX of the papers that define the metrics. ``Metric.source`` names them in words."""

from __future__ import annotations

from collections.abc import Iterable

from clueline.queries.metrics.metric import MetricFacts

STANDARD = "standard"  # the source of metrics that need no citation, such as accuracy

ENTRIES = {
    "sung2025grace": """@inproceedings{sung2025grace,
  author    = {Sung, Yoo Yeon and Fleisig, Eve and Hou, Yu and Upadhyay, Ishan and Boyd-Graber, Jordan Lee},
  title     = {{GRACE}: A Granular Benchmark for Evaluating Model Calibration against Human Calibration},
  booktitle = {Proceedings of the 63rd Annual Meeting of the Association for Computational Linguistics},
  year      = {2025},
  note      = {arXiv:2502.19684}
}""",
    "michael2026lifeeval": """@misc{michael2026lifeeval,
  author        = {Michael, Noam and BenShushan, Daniel and Bien, Jacob and Moore, Don A.},
  title         = {Confidence Calibration in Large Language Models},
  year          = {2026},
  eprint        = {2605.23909},
  archiveprefix = {arXiv}
}""",
    "sakai2026hmr": """@misc{sakai2026hmr,
  author = {Sakai},
  year   = {2026},
  note   = {Defines R\\_O, R\\_U and their harmonic mean HMR. Clueline does not record the title: complete this entry}
}""",
    "baan2022stop": """@inproceedings{baan2022stop,
  author    = {Baan, Joris and Aziz, Wilker and Plank, Barbara and Fern{\\'a}ndez, Raquel},
  title     = {Stop Measuring Calibration When Humans Disagree},
  booktitle = {Proceedings of the 2022 Conference on Empirical Methods in Natural Language Processing},
  pages     = {1892--1915},
  year      = {2022}
}""",
    "kull2019beyond": """@inproceedings{kull2019beyond,
  author    = {Kull, Meelis and Perello-Nieto, Miquel and K{\\"a}ngsepp, Markus and Silva Filho, Telmo and Song, Hao and
               Flach, Peter},
  title     = {Beyond Temperature Scaling: Obtaining Well-Calibrated Multi-Class Probabilities with {Dirichlet} Calibration},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {32},
  year      = {2019}
}""",
    "brier1950verification": """@article{brier1950verification,
  author  = {Brier, Glenn W.},
  title   = {Verification of Forecasts Expressed in Terms of Probability},
  journal = {Monthly Weather Review},
  volume  = {78},
  number  = {1},
  pages   = {1--3},
  year    = {1950}
}""",
    "kendall1945ties": """@article{kendall1945ties,
  author  = {Kendall, Maurice G.},
  title   = {The Treatment of Ties in Ranking Problems},
  journal = {Biometrika},
  volume  = {33},
  number  = {3},
  pages   = {239--251},
  year    = {1945}
}""",
    "murphy1973vector": """@article{murphy1973vector,
  author  = {Murphy, Allan H.},
  title   = {A New Vector Partition of the Probability Score},
  journal = {Journal of Applied Meteorology},
  volume  = {12},
  number  = {4},
  pages   = {595--600},
  year    = {1973}
}""",
    "stephenson2008two": """@article{stephenson2008two,
  author  = {Stephenson, David B. and Coelho, Caio A. S. and Jolliffe, Ian T.},
  title   = {Two Extra Components in the {Brier} Score Decomposition},
  journal = {Weather and Forecasting},
  volume  = {23},
  number  = {4},
  pages   = {752--757},
  year    = {2008}
}""",
    "dimitriadis2021stable": """@article{dimitriadis2021stable,
  author  = {Dimitriadis, Timo and Gneiting, Tilmann and Jordan, Alexander I.},
  title   = {Stable Reliability Diagrams for Probabilistic Classifiers},
  journal = {Proceedings of the National Academy of Sciences},
  volume  = {118},
  number  = {8},
  pages   = {e2016191118},
  year    = {2021}
}""",
    "naeini2015obtaining": """@inproceedings{naeini2015obtaining,
  author    = {Naeini, Mahdi Pakdaman and Cooper, Gregory F. and Hauskrecht, Milos},
  title     = {Obtaining Well Calibrated Probabilities Using {Bayesian} Binning},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume    = {29},
  year      = {2015}
}""",
    "gupta2021calibration": """@inproceedings{gupta2021calibration,
  author    = {Gupta, Kartik and Rahimi, Amir and Ajanthan, Thalaiyasingam and Mensink, Thomas and Sminchisescu, Cristian and
               Hartley, Richard},
  title     = {Calibration of Neural Networks using Splines},
  booktitle = {International Conference on Learning Representations},
  year      = {2021}
}""",
    "si2022reexamining": """@inproceedings{si2022reexamining,
  author    = {Si, Chenglei and Zhao, Chen and Min, Sewon and Boyd-Graber, Jordan},
  title     = {Re-Examining Calibration: The Case of Question Answering},
  booktitle = {Findings of the Association for Computational Linguistics: EMNLP 2022},
  year      = {2022}
}""",
    "kalai2025why": """@misc{kalai2025why,
  author        = {Kalai, Adam Tauman and Nachum, Ofir and Vempala, Santosh S. and Zhang, Edwin},
  title         = {Why Language Models Hallucinate},
  year          = {2025},
  eprint        = {2509.04664},
  archiveprefix = {arXiv}
}""",
    "lichtenstein1977know": """@article{lichtenstein1977know,
  author  = {Lichtenstein, Sarah and Fischhoff, Baruch},
  title   = {Do Those Who Know More Also Know More about How Much They Know?},
  journal = {Organizational Behavior and Human Performance},
  volume  = {20},
  number  = {2},
  pages   = {159--183},
  year    = {1977}
}""",
    "chernozhukov2018double": """@article{chernozhukov2018double,
  author  = {Chernozhukov, Victor and Chetverikov, Denis and Demirer, Mert and Duflo, Esther and Hansen, Christian and
             Newey, Whitney and Robins, James},
  title   = {Double/Debiased Machine Learning for Treatment and Structural Parameters},
  journal = {The Econometrics Journal},
  volume  = {21},
  number  = {1},
  pages   = {C1--C68},
  year    = {2018}
}""",
    "mccarthy1969pseudo": """@article{mccarthy1969pseudo,
  author  = {McCarthy, Philip J.},
  title   = {Pseudo-Replication: Half Samples},
  journal = {Review of the International Statistical Institute},
  volume  = {37},
  number  = {3},
  pages   = {239--264},
  year    = {1969}
}""",
    "good1952rational": """@article{good1952rational,
  author  = {Good, I. J.},
  title   = {Rational Decisions},
  journal = {Journal of the Royal Statistical Society: Series B},
  volume  = {14},
  number  = {1},
  pages   = {107--114},
  year    = {1952}
}""",
    "geifman2017selective": """@inproceedings{geifman2017selective,
  author    = {Geifman, Yonatan and El-Yaniv, Ran},
  title     = {Selective Classification for Deep Neural Networks},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {30},
  year      = {2017}
}""",
    "geifman2019bias": """@inproceedings{geifman2019bias,
  author    = {Geifman, Yonatan and Uziel, Guy and El-Yaniv, Ran},
  title     = {Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers},
  booktitle = {International Conference on Learning Representations},
  year      = {2019}
}""",
    "traub2024overcoming": """@inproceedings{traub2024overcoming,
  author    = {Traub, Jeremias and Bungert, Till J. and L{\\"u}th, Carsten T. and Baumgartner, Michael and
               Maier-Hein, Klaus H. and Maier-Hein, Lena and J{\\"a}ger, Paul F.},
  title     = {Overcoming Common Flaws in the Evaluation of Selective Classification Systems},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {37},
  year      = {2024}
}""",
    "malinin2021uncertainty": """@inproceedings{malinin2021uncertainty,
  author    = {Malinin, Andrey and Gales, Mark},
  title     = {Uncertainty Estimation in Autoregressive Structured Prediction},
  booktitle = {International Conference on Learning Representations},
  year      = {2021}
}""",
    "liang2022helm": """@misc{liang2022helm,
  author        = {Liang, Percy and Bommasani, Rishi and Lee, Tony and others},
  title         = {Holistic Evaluation of Language Models},
  year          = {2022},
  eprint        = {2211.09110},
  archiveprefix = {arXiv}
}""",
    "blasiok2024smooth": """@inproceedings{blasiok2024smooth,
  author    = {B{\\l}asiok, Jaros{\\l}aw and Nakkiran, Preetum},
  title     = {Smooth {ECE}: Principled Reliability Diagrams via Kernel Smoothing},
  booktitle = {International Conference on Learning Representations},
  year      = {2024}
}""",
    "hendrycks2019deep": """@inproceedings{hendrycks2019deep,
  author    = {Hendrycks, Dan and Mazeika, Mantas and Dietterich, Thomas},
  title     = {Deep Anomaly Detection with Outlier Exposure},
  booktitle = {International Conference on Learning Representations},
  year      = {2019}
}""",
    "phan2025humanity": """@misc{phan2025humanity,
  author        = {Phan, Long and Gatti, Alice and Han, Ziwen and others},
  title         = {Humanity's Last Exam},
  year          = {2025},
  eprint        = {2501.14249},
  archiveprefix = {arXiv}
}""",
    "kumar2019verified": """@inproceedings{kumar2019verified,
  author    = {Kumar, Ananya and Liang, Percy and Ma, Tengyu},
  title     = {Verified Uncertainty Calibration},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {32},
  year      = {2019}
}""",
    "pedregosa2011scikit": """@article{pedregosa2011scikit,
  author  = {Pedregosa, Fabian and Varoquaux, Ga{\\"e}l and Gramfort, Alexandre and others},
  title   = {Scikit-learn: Machine Learning in {Python}},
  journal = {Journal of Machine Learning Research},
  volume  = {12},
  pages   = {2825--2830},
  year    = {2011}
}""",
    "detlefsen2022torchmetrics": """@article{detlefsen2022torchmetrics,
  author  = {Detlefsen, Nicki Skafte and Borovec, Jiri and Schock, Justus and others},
  title   = {{TorchMetrics}: Measuring Reproducibility in {PyTorch}},
  journal = {Journal of Open Source Software},
  volume  = {7},
  number  = {70},
  pages   = {4101},
  year    = {2022}
}""",
    "kuppers2020multivariate": """@inproceedings{kuppers2020multivariate,
  author    = {K{\\"u}ppers, Fabian and Kronenberger, Jan and Shantia, Amirhossein and Haselhoff, Anselm},
  title     = {Multivariate Confidence Calibration for Object Detection},
  booktitle = {IEEE/CVF Conference on Computer Vision and Pattern Recognition Workshops},
  year      = {2020},
  note      = {The library netcal}
}""",
    "inspectevals": """@misc{inspectevals,
  author = {{UK AI Security Institute}},
  title  = {Inspect Evals},
  note   = {https://github.com/UKGovernmentBEIS/inspect\\_evals},
  year   = {2024}
}""",
}
# How ``Metric.source`` names each paper.
NAMES = {
    "GRACE": "sung2025grace", "LifeEval": "michael2026lifeeval", "Sakai": "sakai2026hmr", "Baan et al. 2022": "baan2022stop",
    "Kull et al. 2019": "kull2019beyond", "Brier 1950": "brier1950verification", "Murphy 1973": "murphy1973vector",
    "Kendall 1945": "kendall1945ties",
    "Stephenson, Coelho & Jolliffe 2008": "stephenson2008two",
    "Dimitriadis, Gneiting & Jordan 2021": "dimitriadis2021stable", "Naeini et al. 2015": "naeini2015obtaining",
    "Gupta et al. 2021": "gupta2021calibration", "Si et al. 2022": "si2022reexamining", "Kalai et al. 2025": "kalai2025why",
    "Lichtenstein & Fischhoff 1977": "lichtenstein1977know", "Chernozhukov et al. 2018": "chernozhukov2018double",
    "McCarthy 1969": "mccarthy1969pseudo", "Good 1952": "good1952rational",
    "Geifman & El-Yaniv 2017": "geifman2017selective", "Geifman et al. 2019": "geifman2019bias",
    "Traub et al. 2024": "traub2024overcoming", "Malinin & Gales 2021": "malinin2021uncertainty",
    "Liang et al. 2022": "liang2022helm", "HELM": "liang2022helm", "verified_calibration": "kumar2019verified",
    "Blasiok & Nakkiran 2024": "blasiok2024smooth", "Hendrycks et al. 2019": "hendrycks2019deep", "hle_eval": "phan2025humanity",
    "the same script": "phan2025humanity", "scikit-learn": "pedregosa2011scikit", "torchmetrics": "detlefsen2022torchmetrics",
    "netcal": "kuppers2020multivariate", "inspect_evals": "inspectevals",
}  # fmt: skip


def citation_keys(source: str) -> list[str]:
    """Return the keys of ``ENTRIES`` that a source names, in order of mention; an empty list for ``STANDARD``.

    >>> citation_keys("Naeini et al. 2015; Sakai eq. 1")
    ['naeini2015obtaining', 'sakai2026hmr']
    """
    names = sorted((name for name in NAMES if name in source), key=source.index)
    return list(dict.fromkeys(NAMES[name] for name in names))


def bibtex(metrics: Iterable[MetricFacts], more: Iterable[str] = ()) -> str:
    """Return the BibTeX entries of the metrics' sources and of further keys, each once, separated by blank lines."""
    keys = [*(key for metric in metrics for key in citation_keys(metric.source)), *more]
    return "\n\n".join(ENTRIES[key] for key in dict.fromkeys(keys))
