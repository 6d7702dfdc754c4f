"""Everyday sentences in every language of `grammar.CUES`: those that give C, and those that deny A."""

from typing import Final

GIVEN: Final = {
    "German": """Die richtige Antwort ist C. | Richtig ist C. | Die Lösung lautet C.
        | Ich denke, die Antwort ist C. | Nur C ist richtig. | Antwort C ist korrekt. | Meine Antwort: C
        | Es ist C, nicht A. | Nicht A, sondern C. | A ist falsch, C ist richtig. | Die korrekte Option ist C.
        | Ich würde C wählen. | C trifft zu.""",
    "French": """La bonne réponse est C. | La réponse est la C. | La réponse est donc C. | Je pense que c'est C.
        | C'est la réponse C. | C est la bonne réponse. | Seule la réponse C est correcte.
        | La réponse correcte est l'option C. | Ce n'est pas A mais C. | Ma réponse est C.
        | A est faux, C est correct. | La bonne option est C. | Réponse C.""",
    "Spanish": """La respuesta correcta es C. | La respuesta correcta es la C. | Creo que la respuesta es C.
        | La correcta es la C. | La opción C es la correcta. | Solo C es correcta.
        | La respuesta es la opción C. | Es la C. | No es A, sino C. | A es incorrecta; la correcta es C.
        | Respuesta: C | La alternativa correcta es C. | Elegiría la C.""",
    "Portuguese": """A resposta correta é C. | A resposta certa é a C. | A resposta é a letra C.
        | A alternativa correta é a letra C. | A opção C é a correta. | Acho que a resposta é C.
        | Só a C está correta. | Resposta: C | Não é a A, mas a C. | Alternativa C.
        | A alternativa C está correta. | A opção correta é C, não B.""",
    "Italian": """La risposta corretta è C. | La risposta corretta è la C. | La risposta giusta è C. | È la C.
        | L'opzione corretta è C. | La risposta è l'opzione C. | Solo la C è corretta.
        | Penso che la risposta sia C. | Non è A, ma C. | Risposta: C | La C è la risposta corretta.
        | A è sbagliata, C è corretta.""",
    "Dutch": """Het juiste antwoord is C. | Het antwoord is C. | Antwoord C is juist. | Alleen C is juist.
        | Ik denk dat het antwoord C is. | C is het juiste antwoord. | Het is niet A maar C. | Ik kies C.
        | Mijn antwoord is C. | Het goede antwoord is C. | A is fout, C is goed. | De juiste optie is C.""",
    "Polish": """Poprawna odpowiedź to C. | Odpowiedź: C | Prawidłowa odpowiedź to C.
        | Poprawną odpowiedzią jest C. | Odpowiedź C jest poprawna. | Tylko odpowiedź C jest prawidłowa.
        | Myślę, że odpowiedź to C. | C jest poprawną odpowiedzią. | Nie A, tylko C. | Moja odpowiedź to C.
        | Wybieram C. | Poprawna jest odpowiedź C.""",
    "Czech": """Správná odpověď je C. | Správně je C. | Odpověď: C | Odpověď je C. | Správná odpověď je za C.
        | Pouze C je správně. | C je správná odpověď. | Myslím, že odpověď je C. | Není to A, ale C.
        | Odpověď C je správná. | Vybírám C. | Správná možnost je C.""",
    "Turkish": """Doğru cevap C'dir. | Cevap C. | Cevap: C | Doğru cevap C şıkkıdır.
        | Doğru cevap C seçeneğidir. | C şıkkı doğrudur. | Cevabım C. | Sadece C doğru. | Bence cevap C.
        | Doğru cevap A değil, C'dir. | Yanıt C'dir. | Doğru yanıt: C | C doğrudur.""",
    "Swedish": """Rätt svar är C. | Svaret är C. | Svar: C | Det rätta svaret är C. | Svar C är rätt.
        | Endast C är rätt. | Jag tror att svaret är C. | C är rätt svar. | Det är inte A utan C.
        | Jag väljer C. | Mitt svar är C. | Rätt alternativ är C.""",
    "Danish": """Det rigtige svar er C. | Svaret er C. | Svar: C | Svar C er rigtigt. | Kun C er rigtig.
        | Jeg tror, svaret er C. | C er det rigtige svar. | Det er ikke A, men C. | Jeg vælger C.
        | Mit svar er C. | Det korrekte svar er C.""",
    "Norwegian": """Riktig svar er C. | Det riktige svaret er C. | Svaret er C. | Svar: C | Bare C er riktig.
        | Jeg tror svaret er C. | C er riktig svar. | Det er ikke A, men C. | Jeg velger C. | Mitt svar er C.
        | Korrekt svar er C.""",
    "Finnish": """Oikea vastaus on C. | Vastaus on C. | Vastaus: C | Vain C on oikein. | C on oikea vastaus.
        | Luulen, että vastaus on C. | Vastaukseni on C. | Se ei ole A vaan C. | Vaihtoehto C on oikea.
        | Oikea vaihtoehto on C. | Valitsen C:n. | Vastaus on vaihtoehto C.""",
    "Hungarian": """A helyes válasz C. | A helyes válasz a C. | Válasz: C | A válasz: C | Csak a C helyes.
        | A C a helyes válasz. | Szerintem a válasz C. | Nem az A, hanem a C. | A helyes megoldás a C.
        | A C válasz a helyes. | A válaszom C. | A helyes válasz tehát C.""",
    "Romanian": """Răspunsul corect este C. | Răspuns: C | Răspunsul este C. | Răspunsul corect e C.
        | Doar C este corect. | C este răspunsul corect. | Cred că răspunsul este C. | Nu este A, ci C.
        | Varianta corectă este C. | Aleg C. | Răspunsul meu este C. | Varianta C este corectă.""",
    "Indonesian": """Jawaban yang benar adalah C. | Jawabannya adalah C. | Jawaban: C | Jawabannya C.
        | Jawaban yang tepat adalah C. | Hanya C yang benar. | C adalah jawaban yang benar.
        | Menurut saya jawabannya adalah C. | Bukan A, tetapi C. | Jawaban saya C. | Pilihan C benar.
        | Saya memilih C.""",
    "Vietnamese": """Đáp án đúng là C. | Đáp án: C | Đáp án là C. | Câu trả lời đúng là C. | Chỉ có C đúng.
        | C là đáp án đúng. | Tôi nghĩ đáp án là C. | Không phải A mà là C. | Chọn C. | Tôi chọn C.
        | Vậy đáp án đúng là C. | Đáp án C là đúng. | Phương án đúng là C.""",
    "Russian": """Правильный ответ: C. | Правильный ответ — C. | Ответ C. | Верный ответ — C.
        | Правильным ответом является C. | Ответ: вариант C. | Только C верно. | C — правильный ответ.
        | Я думаю, что ответ C. | Не A, а C. | Мой ответ — C. | Правильный вариант C. | Вариант C правильный.""",
    "Ukrainian": """Правильна відповідь: C. | Правильна відповідь — C. | Відповідь: C | Відповідь C.
        | Правильною відповіддю є C. | Лише C правильно. | C — правильна відповідь. | Я думаю, що відповідь C.
        | Не A, а C. | Моя відповідь — C. | Правильний варіант — C. | Варіант C правильний.""",
    "Greek": """Η σωστή απάντηση είναι C. | Η σωστή απάντηση είναι η C. | Απάντηση: C | Η απάντηση είναι το C.
        | Μόνο το C είναι σωστό. | Το C είναι σωστό. | Νομίζω ότι η απάντηση είναι C. | Όχι A, αλλά C.
        | Η απάντησή μου είναι C. | Επιλέγω C. | Σωστό είναι το C.""",
    "Arabic": """الإجابة الصحيحة هي C. | الإجابة: C | الجواب هو C. | الجواب الصحيح هو C. | الإجابة هي الخيار C.
        | الخيار C هو الصحيح. | فقط C صحيح. | C هي الإجابة الصحيحة. | أعتقد أن الإجابة هي C. | ليس A بل C.
        | إجابتي هي C. | الإجابة الصحيحة هي (C).""",
    "Hebrew": """התשובה הנכונה היא C. | תשובה: C | התשובה היא C. | תשובה C נכונה. | רק C נכון.
        | C היא התשובה הנכונה. | אני חושב שהתשובה היא C. | לא A אלא C. | התשובה שלי היא C. | אני בוחר C.
        | האפשרות הנכונה היא C.""",
    "Hindi": """सही उत्तर C है। | उत्तर: C | उत्तर C है। | सही जवाब C है। | सही उत्तर विकल्प C है।
        | विकल्प C सही है। | केवल C सही है। | C सही उत्तर है। | मेरा उत्तर C है। | मुझे लगता है कि उत्तर C है।
        | A नहीं, C सही है। | सही विकल्प C है।""",
    "Bengali": """সঠিক উত্তর হল C। | উত্তর: C | উত্তর C। | সঠিক উত্তর C। | সঠিক উত্তরটি হলো C। | শুধু C সঠিক।
        | C সঠিক উত্তর। | আমার উত্তর C। | আমি মনে করি উত্তর C। | A নয়, C সঠিক। | বিকল্প C সঠিক। | উত্তর হবে C।""",
    "Thai": """คำตอบที่ถูกต้องคือ C | คำตอบคือ C | คำตอบ: C | คำตอบที่ถูกคือข้อ C | ข้อ C ถูกต้อง | ตอบ C
        | ตอบข้อ C | เฉพาะ C เท่านั้นที่ถูก | C เป็นคำตอบที่ถูกต้อง | ผมคิดว่าคำตอบคือ C | ไม่ใช่ A แต่เป็น C
        | ฉันเลือก C | ตัวเลือก C ถูกต้อง""",
    "Chinese": """只有选项C是对的 | 正确答案是C。 | 答案选C。 | 应该选C | 我认为答案是C。 | C是正确答案
        | C项正确 | 正确的选项是C | 所以答案是C选项。 | 不是A，而是C。 | 本题选C。 | 只有C正确。 | C是对的。
        | 选项C对。 | 本题答案为C。 | 故正确答案为C。""",
    "Traditional Chinese": """正確答案是C。 | 答案是C。 | 應該選C | 我認為答案是C。 | 選項C是對的。
        | 只有C正確。 | C是正確的。 | 正確的選項是C。 | 不是A，而是C。 | 本題選C。""",
    "Japanese": """正解はCです。 | 答えはCです。 | 正解はCだと思います。 | Cが正しいです。 | 正しいのはCです。
        | Cが正解だ。 | 回答：C | 選択肢Cが正しい。 | 答えはCになります。 | AではなくCです。 | 私の答えはCです。
        | 正しい選択肢はCです。 | 正解は選択肢Cです。 | よって、Cが正解です。""",
    "Korean": """정답은 C입니다. | 답은 C입니다. | 정답: C | 정답은 C이다. | 정답은 C번입니다. | C가 정답입니다.
        | C가 맞습니다. | 올바른 답은 C입니다. | 옳은 것은 C이다. | A가 아니라 C입니다. | 제 답은 C입니다.
        | 선택지 C가 맞습니다. | 따라서 답은 C이다. | C만 맞다.""",
}
"""Each sentence gives C."""

DENIED: Final = {
    "German": """A ist falsch. | Die Antwort ist nicht A. | Antwort A ist nicht richtig.
        | A ist nicht die richtige Antwort. | A stimmt nicht.""",
    "French": """A est faux. | La réponse n'est pas A. | La réponse A est incorrecte.
        | A n'est pas la bonne réponse. | Ce n'est pas A.""",
    "Spanish": """A es incorrecta. | La respuesta no es A. | La opción A no es correcta.
        | A no es la respuesta correcta. | No es la A.""",
    "Portuguese": """A está errada. | A resposta não é A. | A opção A não é correta.
        | A alternativa A está incorreta. | Não é a A.""",
    "Italian": """A è sbagliata. | La risposta non è A. | La risposta A non è corretta. | L'opzione A è errata.
        | Non è la A.""",
    "Dutch": """A is fout. | Het antwoord is niet A. | Antwoord A is niet juist.
        | A is niet het juiste antwoord. | Antwoord A is onjuist.""",
    "Polish": """A jest błędna. | Odpowiedź to nie A. | Odpowiedź A nie jest poprawna.
        | Odpowiedź A jest niepoprawna. | A nie jest poprawną odpowiedzią.""",
    "Czech": """A je špatně. | Odpověď není A. | Odpověď A není správná. | Odpověď A je nesprávná.
        | A není správná odpověď.""",
    "Turkish": """A yanlıştır. | Cevap A değil. | A şıkkı doğru değildir. | Doğru cevap A değildir.
        | A cevabı yanlış.""",
    "Swedish": """A är fel. | Svaret är inte A. | Svar A är inte rätt. | A är inte rätt svar.
        | Svar A är felaktigt.""",
    "Danish": """A er forkert. | Svaret er ikke A. | Svar A er ikke rigtigt. | A er ikke det rigtige svar.
        | Svar A er forkert.""",
    "Norwegian": """A er feil. | Svaret er ikke A. | Svar A er ikke riktig. | A er ikke riktig svar.
        | Svar A er galt.""",
    "Finnish": """A on väärin. | Vastaus ei ole A. | Vastaus A ei ole oikea. | A ei ole oikea vastaus.
        | Vastaus A on väärä.""",
    "Hungarian": """Az A hibás. | A válasz nem A. | Az A válasz nem helyes. | Az A válasz helytelen.
        | Az A rossz válasz.""",
    "Romanian": """A este greșit. | Răspunsul nu este A. | Răspunsul A nu este corect.
        | A nu este răspunsul corect. | Răspunsul A este incorect.""",
    "Indonesian": """A salah. | Jawabannya bukan A. | Jawaban A tidak benar. | A bukan jawaban yang benar.
        | Jawaban A salah.""",
    "Vietnamese": """A sai. | Đáp án không phải là A. | Đáp án A không đúng. | A không phải là đáp án đúng.
        | Đáp án A là sai.""",
    "Russian": """A неверно. | Ответ не A. | Ответ A неправильный. | A — неправильный ответ.
        | Вариант A не верен.""",
    "Ukrainian": """A неправильно. | Відповідь не A. | Відповідь A неправильна. | A — неправильна відповідь.
        | Варіант A не є правильним.""",
    "Greek": """Το A είναι λάθος. | Η απάντηση δεν είναι A. | Η απάντηση A δεν είναι σωστή.
        | Το A δεν είναι η σωστή απάντηση. | Η απάντηση A είναι λανθασμένη.""",
    "Arabic": """A خطأ. | الإجابة ليست A. | الإجابة A غير صحيحة. | A ليست الإجابة الصحيحة. | الخيار A خاطئ.""",
    "Hebrew": """A שגוי. | התשובה אינה A. | תשובה A לא נכונה. | A היא לא התשובה הנכונה. | תשובה A שגויה.""",
    "Hindi": """A गलत है। | उत्तर A नहीं है। | विकल्प A सही नहीं है। | A सही उत्तर नहीं है। | उत्तर A गलत है।""",
    "Bengali": """A ভুল। | উত্তর A নয়। | বিকল্প A সঠিক নয়। | A সঠিক উত্তর নয়। | উত্তর A ভুল।""",
    "Thai": """A ผิด | คำตอบไม่ใช่ A | ข้อ A ไม่ถูกต้อง | A ไม่ใช่คำตอบที่ถูกต้อง | คำตอบ A ผิด""",
    "Chinese": """A是错的。 | 答案不是A。 | 选项A不正确。 | A不是正确答案。 | A项错误。 | 选项A不对。""",
    "Traditional Chinese": """A是錯的。 | 答案不是A。 | 選項A不正確。 | A不是正確答案。 | 選項A錯誤。""",
    "Japanese": """Aは間違いです。 | 答えはAではありません。 | Aは正しくない。 | Aは正解ではない。
        | 選択肢Aは誤りです。""",
    "Korean": """A는 틀렸습니다. | 정답은 A가 아닙니다. | A는 정답이 아니다. | 선택지 A는 옳지 않다.
        | A는 오답입니다.""",
}
"""No sentence gives an answer."""

MORE_GIVEN: Final = (
    "Meiner Meinung nach ist C die richtige Wahl.",
    "Ich entscheide mich für C.",
    "Somit ist C die Lösung.",
    "Die Antwort ist C, weil Schienen zu sehen sind.",
    "Die richtige Antwort ist nicht A, sondern C.",
    "Antwort: C, denn A ist falsch.",
    "Je choisis la réponse C.",
    "La bonne réponse est la lettre C.",
    "Il s'agit de la réponse C.",
    "La réponse correcte est C, car on voit des rails.",
    "Donc, la bonne réponse est C.",
    "Por lo tanto, la respuesta correcta es la opción C.",
    "La respuesta correcta es C porque hay rieles.",
    "La opción correcta es C) tram.",
    "Sin duda, la respuesta es C.",
    "Portanto, a resposta correta é a opção C.",
    "A resposta é C, pois há trilhos.",
    "Com certeza é a letra C.",
    "Quindi la risposta corretta è la lettera C.",
    "La risposta è C perché ci sono rotaie.",
    "Bu nedenle doğru cevap C seçeneğidir.",
    "Cevap: C şıkkı",
    "Doğru seçenek C'dir.",
    "Doğru cevap C şıkkı olacaktır.",
    "Resimde ray var, bu yüzden cevap C.",
    "Dlatego poprawną odpowiedzią jest opcja C.",
    "Odpowiedź C, ponieważ widać szyny.",
    "Следовательно, правильный ответ — вариант C.",
    "Правильный ответ под буквой C.",
    "Я выбираю вариант C.",
    "Ответ — C, так как видны рельсы.",
    "Правильный ответ не A, а C.",
    "Отже, правильна відповідь — варіант C.",
    "لذلك الإجابة الصحيحة هي الخيار C.",
    "أختار C.",
    "الإجابة الصحيحة: C",
    "इसलिए सही उत्तर विकल्प C है।",
    "मैं C चुनता हूँ।",
    "चित्र में ट्राम है। इसलिए सही उत्तर C है। A गलत है।",
    "सही उत्तर (C) है।",
    "सही विकल्प (C) tram है।",
    "তাই সঠিক উত্তর হল বিকল্প C।",
    "সঠিক উত্তর (C)।",
    "ดังนั้นคำตอบที่ถูกต้องคือ C",
    "คำตอบที่ถูกต้องคือข้อ C เพราะมีราง",
    "Vì vậy, câu trả lời đúng là C.",
    "Đáp án chính xác là C.",
    "Jadi, jawaban yang benar adalah C.",
    "Jawaban yang paling tepat adalah C.",
    "따라서 정답은 C입니다.",
    "정답은 C 입니다.",
    "그러므로 C가 정답입니다.",
    "정답은 (C)번입니다.",
    "したがって、正解はCです。",
    "選択肢Cが正解です。",
    "答えはC。",
    "正解は「C」です。",
    "AとBは間違いで、正解はCです。",
    "综上所述，正确答案是选项C。",
    "图中是电车，因此选C。",
    "答案：选项C",
    "A和B都不对，答案是C。",
    "正确的是C。",
    "Επομένως, η σωστή απάντηση είναι η C.",
    "Η σωστή επιλογή είναι η C.",
    "לכן התשובה הנכונה היא C.",
    "התשובה הנכונה: C",
    "Siis oikea vastaus on C.",
    "Oikea vaihtoehto on siis C.",
    "Tehát a helyes válasz a C.",
    "A helyes válasz: C",
    "A helyes válasz a C, mert sínek vannak.",
    "Prin urmare, răspunsul corect este C.",
    "Răspunsul corect este varianta C.",
    "Därför är rätt svar C.",
    "Det korrekta svaret är alternativ C.",
    "Derfor er det rigtige svar C.",
    "Det rigtige svar er mulighed C.",
    "Derfor er riktig svar C.",
    "Det riktige alternativet er C.",
    "Proto je správná odpověď C.",
    "Správná odpověď je tedy C.",
    "Dus het juiste antwoord is C.",
    "Het correcte antwoord is C, want er zijn rails.",
)
"""Longer sentences, written after the rules: each gives C."""

MORE_DENIED: Final = (
    "Odpowiedź to nie (C).",
    "Nicht richtig: C",
    "Ich bin nicht sicher, ob C richtig ist.",
    "Antwort C kann nicht stimmen.",
    "Weder A noch C ist richtig.",
    "Ist C richtig?",
    "Ni A ni C ne sont correctes.",
    "La réponse C ne convient pas.",
    "La respuesta C no puede ser correcta.",
    "A resposta C não está certa.",
    "La risposta C non va bene.",
    "Het antwoord C klopt niet.",
    "Odpowiedź C nie pasuje.",
    "C cevabı doğru değil.",
    "C doğru olamaz.",
    "Svaret kan inte vara C.",
    "Svaret kan ikke være C.",
    "Vastaus ei voi olla C.",
    "A válasz nem lehet C.",
    "Răspunsul nu poate fi C.",
    "Jawabannya tidak mungkin C.",
    "Đáp án C là không đúng.",
    "Ответ C не подходит.",
    "Ни A, ни C не верны.",
    "Відповідь C не підходить.",
    "Η απάντηση C δεν ταιριάζει.",
    "الجواب C ليس صحيحًا.",
    "התשובה C לא מתאימה.",
    "उत्तर C नहीं हो सकता।",
    "C सही नहीं है।",
    "উত্তর C হতে পারে না।",
    "คำตอบ C ไม่ใช่",
    "答案不可能是C。",
    "C不可能是正确答案。",
    "Cは正解ではありません。",
    "正解はCではない。",
    "C는 정답이 될 수 없습니다.",
    "정답은 C가 아니다.",
)
"""Denials, doubts and questions, written after the rules: none gives an answer."""
